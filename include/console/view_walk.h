/* view_walk.h - a view bit by bit, for callers that must not take long.
 *
 * The same rows as SHOW has: databases, pools and users by name, clients and
 * servers the oldest first, those of all workers merged. What goes meanwhile is
 * not told; what comes is told last, or not if it has a name; no name twice. Where there are
 * several workers, each call but view_walk_begin() is for a hold, the end, too.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_VIEW_WALK_H
#define CONSOLE_VIEW_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cursor.h"
#include "console/view_merge.h"
#include "pool/users.h"

struct admin;
struct row_sink;
struct view;

struct view_walk {
	const struct admin *a;		/* borrowed: the first worker's */
	const struct view *v;
	struct view_fold fold;
	bool begun;			/* with rows */
	const struct admin *rest;	/* workers without a cursor yet */
	struct users_walk users;	/* VIEW_USERS: of all workers */
	size_t count;			/* of those with one */
	struct {
		const struct admin *a;
		struct cursor cursor;
	} of[USERS_CATALOGS];
};

/* Has it more than so many items? Never of VIEW_PRIVATE and VIEW_WHOLE. */
bool view_walk_is_long(const struct admin *a, const struct view *v,
    size_t max);
/* v is not VIEW_PRIVATE; w stays where it is. */
void view_walk_begin(struct view_walk *w, const struct admin *a,
    const struct view *v);
/* The rows of one item, if any. Returns false when that was all. */
bool view_walk_next(struct view_walk *w, struct row_sink *sink);
/* Must be called before what is walked over goes. */
void view_walk_end(struct view_walk *w);

#endif
