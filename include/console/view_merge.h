/* view_merge.h - the things of all workers, shown as if one worker had them.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_VIEW_MERGE_H
#define CONSOLE_VIEW_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "io/dns.h"
#include "pool/catalog.h"
#include "pool/latencies.h"
#include "pool/users.h"

struct admin;
struct row_sink;
struct view;

/*
 * What has parts at several workers, shown as one.
 *
 * A part is not shown by itself, but with the pool, and the database, at home.
 */

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

/* What the workers have together. */

struct sums {
	int64_t databases, pools, clients, logins, servers;
	int64_t users;			/* of the one that knows the most */
	struct dns_stat dns;
};

/* a is the first one's; where there are others, they stand still. */
struct sums sums_of(const struct admin *a);
struct mem_stat sums_of_memory(const struct admin *a, enum mem_kind kind);

#endif
