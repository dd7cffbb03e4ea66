/* view_fold.h - what has parts at several workers, shown as one.
 *
 * A part is not shown by itself, but with the pool, and the database, at home.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_VIEW_FOLD_H
#define CONSOLE_VIEW_FOLD_H

#include "pool/catalog.h"
#include "pool/latencies.h"

struct admin;

/* Room for one of them; zeroed at first. */
struct view_fold {
	struct pool pool;		/* counts, times and heads of queues */
	struct database db;
	struct latencies latencies;
};

/*
 * p with its parts, perhaps in f, as long as nothing moves and until the next is
 * asked for; NULL: p is a part. a is the first one's; all stand still.
 */
const struct pool *view_fold_pool(struct view_fold *f, const struct admin *a,
    const struct pool *p);
/* The same; the list of its pools is good for their counters only. */
const struct database *view_fold_database(struct view_fold *f,
    const struct admin *a, const struct database *db);
void view_fold_fini(struct view_fold *f);

/* The part of p at the worker of a, or p itself; NULL: there is none. */
const struct pool *view_fold_part(const struct admin *a, const struct pool *p);

#endif
