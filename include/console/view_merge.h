/* view_merge.h - things of all workers, in the order that one would show.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_VIEW_MERGE_H
#define CONSOLE_VIEW_MERGE_H

#include <stddef.h>

#include "console/view_fold.h"
#include "pool/users.h"

struct admin;

enum merge_kind {
	MERGE_DATABASES,	/* struct database: by name, parts as one */
	MERGE_POOLS,		/* struct pool: by database, then user */
	MERGE_WHOLE_POOLS,	/* the same, parts as one */
	MERGE_LOGINS,		/* struct client: the oldest first */
};

struct view_merge {
	enum merge_kind kind;
	const struct admin *first;
	const struct admin *a;	/* whose thing it is that was taken last */
	struct view_fold fold;
	size_t count;
	struct {
		const struct admin *a;
		const void *next;	/* NULL: it has no more */
	} of[USERS_CATALOGS];		/* of each worker */
};

/* a is the first one's. Nothing may come or go until the last is taken. */
void view_merge_begin(struct view_merge *m, const struct admin *a,
    enum merge_kind kind);
/* NULL: that was all. */
const void *view_merge_take(struct view_merge *m);
void view_merge_end(struct view_merge *m);

#endif
