/* spare.h - spare servers under a limit, in order of their last use.
 *
 * Where a limit of a database or a user is reached, the one that was not used
 * for longest makes room. It is found without a look at the pools.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_SPARE_H
#define POOL_SPARE_H

#include <stdbool.h>

#include "pool/line.h"
#include "pool/pool.h"

/* Idle, used or tested: it has no client. */
bool spare_is(enum server_state state);

/* Does a limit count the servers of p? */
static inline bool spare_counts(const struct pool *p)
{
	return (p->limits.max_db | p->limits.max_user) > 0;
}

/*
 * ps changed its state or was used, or a limit of its pool came or went: put it
 * where it belongs.
 */
void spare_update(struct pool_server *ps);

/* The longest unused one that may go under this limit of p; NULL: none. */
struct pool_server *spare_oldest(const struct pool *p, enum line_kind kind);

#endif
