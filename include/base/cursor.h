/* cursor.h - a list that is walked bit by bit, while it changes.
 *
 * What is added meanwhile comes last; what is removed is not come to; what
 * stays is come to once.
 *
 * A list in order gives each new member its place when the next walk begins, or
 * before that. Older walks come to it if that is behind the member they come to
 * next: so none comes twice to members that compare equal, one removed and the
 * other added.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stddef.h>

struct cursor;

/* Embedded in a member of the list; prev NULL: the member is in no list. */
struct cursor_node {
	struct cursor_node *prev, *next;
};

/* All zero at first, except compare. */
struct cursor_list {
	/* NULL: in no order but that of their coming */
	int (*compare)(const struct cursor_node *a,
	    const struct cursor_node *b);
	struct cursor_node *first;	/* DL */
	struct cursor_node *unplaced;	/* from here on; NULL: none */
	struct cursor *cursors;		/* DL: walks under way */
	size_t count;			/* of members */
	size_t added;			/* since the last cursor_list_arrange() */
};

void cursor_list_add(struct cursor_list *l, struct cursor_node *n);
void cursor_list_remove(struct cursor_list *l, struct cursor_node *n);

/* Give its place to each that has none yet. */
void cursor_list_arrange(struct cursor_list *l);
/*
 * The same, once a sixteenth of the members was added: for lists that grow one by
 * one. So no walk begins with the sorting of them all; a member costs 16 steps.
 */
void cursor_list_settle(struct cursor_list *l);

struct cursor {
	struct cursor *prev, *next;
	struct cursor_list *list;		/* borrowed; NULL: not under way */
	struct cursor_node *at;		/* next member; NULL: none */
};

/* Each walk that was begun must be ended, before its list goes. */
void cursor_begin(struct cursor *w, struct cursor_list *l);
/* The next member; NULL: no more, for now. */
static inline struct cursor_node *cursor_next(const struct cursor *w)
{
	return w->at;
}
/* The same, and move on. */
struct cursor_node *cursor_take(struct cursor *w);
/* Ended twice, or never begun: no effect. */
void cursor_end(struct cursor *w);

#endif
