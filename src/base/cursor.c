/* cursor.c - a list that is walked bit by bit, while it changes.
 * SPDX-License-Identifier: ISC */
#include "base/cursor.h"

#include <stddef.h>
#include <utlist.h>

#define SETTLED 64		/* fewer take no time to speak of */

void cursor_list_add(struct cursor_list *l, struct cursor_node *n)
{
	DL_APPEND(l->first, n);
	l->count++;
	l->added++;
	if (l->compare != NULL && l->unplaced == NULL)
		l->unplaced = n;
}

/* What walks come to behind n. */
static struct cursor_node *cursor_behind(const struct cursor_list *l,
    const struct cursor_node *n)
{
	return n->next == l->unplaced ? NULL : n->next;
}

void cursor_list_remove(struct cursor_list *l, struct cursor_node *n)
{
	struct cursor *w;

	if (n->prev == NULL)
		return;
	DL_FOREACH(l->cursors, w) {
		if (w->at == n)
			w->at = cursor_behind(l, n);
	}
	if (l->unplaced == n)
		l->unplaced = n->next;
	DL_DELETE(l->first, n);
	l->count--;
	n->prev = n->next = NULL;
}

/* Take those that have no place out of the list. */
static struct cursor_node *cursor_cut(struct cursor_list *l)
{
	struct cursor_node *const first = l->unplaced;
	struct cursor_node *const last = l->first->prev;

	l->unplaced = NULL;
	if (first == l->first) {
		l->first = NULL;
	} else {
		l->first->prev = first->prev;
		first->prev->next = NULL;
	}
	first->prev = last;
	return first;
}

void cursor_list_arrange(struct cursor_list *l)
{
	struct cursor_node *added, *n, *next, *at;

	l->added = 0;
	if (l->unplaced == NULL)
		return;
	added = cursor_cut(l);
	DL_SORT(added, l->compare);
	at = l->first;
	DL_FOREACH_SAFE(added, n, next) {
		while (at != NULL && l->compare(at, n) <= 0)
			at = at->next;
		DL_PREPEND_ELEM(l->first, at, n);
	}
}

void cursor_list_settle(struct cursor_list *l)
{
	if (l->added >= SETTLED && l->added >= l->count / 16)
		cursor_list_arrange(l);
}

void cursor_begin(struct cursor *w, struct cursor_list *l)
{
	cursor_list_arrange(l);
	w->list = l;
	w->at = l->first;
	DL_APPEND(l->cursors, w);
}

struct cursor_node *cursor_take(struct cursor *w)
{
	struct cursor_node *const n = w->at;

	if (n != NULL)
		w->at = cursor_behind(w->list, n);
	return n;
}

void cursor_end(struct cursor *w)
{
	if (w->list == NULL)
		return;
	DL_DELETE(w->list->cursors, w);
	w->list = NULL;
}
