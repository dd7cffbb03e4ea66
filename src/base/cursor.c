/* cursor.c - a list that is walked bit by bit, while it changes.
 * SPDX-License-Identifier: ISC */
#include "base/cursor.h"

#include <stddef.h>
#include <utlist.h>

void cursor_list_add(struct cursor_list *l, struct cursor_node *n)
{
	DL_APPEND(l->first, n);
}

void cursor_list_remove(struct cursor_list *l, struct cursor_node *n)
{
	struct cursor *w;

	if (n->prev == NULL)
		return;
	DL_FOREACH(l->cursors, w) {
		if (w->at == n)
			w->at = n->next;
	}
	DL_DELETE(l->first, n);
	n->prev = n->next = NULL;
}

void cursor_list_empty(struct cursor_list *l)
{
	struct cursor_node *n, *next;

	DL_FOREACH_SAFE(l->first, n, next)
		n->prev = n->next = NULL;
	l->first = NULL;
}

void cursor_begin(struct cursor *w, struct cursor_list *l)
{
	w->list = l;
	w->at = l->first;
	DL_APPEND(l->cursors, w);
}

struct cursor_node *cursor_take(struct cursor *w)
{
	struct cursor_node *const n = w->at;

	if (n != NULL)
		w->at = n->next;
	return n;
}

void cursor_end(struct cursor *w)
{
	if (w->list == NULL)
		return;
	DL_DELETE(w->list->cursors, w);
	w->list = NULL;
}
