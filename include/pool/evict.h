/* evict.h - idle servers under a limit, in order of their last use.
 *
 * Where a limit of a database or a user is reached, the one that was not used
 * for longest makes room. It is found without a look at the pools.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_EVICT_H
#define POOL_EVICT_H

#include <stdbool.h>

#include "pool/limit_queue.h"
#include "pool/pool.h"

/* Idle, used or tested: it has no client. */
bool evict_is_candidate(enum server_state state);

/* Does a limit count the servers of p? */
static inline bool evict_is_limited(const struct pool *p)
{
	return (p->limits.max_db | p->limits.max_user) > 0;
}

/*
 * ps changed its state or was used, or a limit of its pool came or went: put it
 * where it belongs.
 */
void evict_update(struct pool_server *ps);

/* The longest unused one that may go under this limit of p; NULL: none. */
struct pool_server *evict_oldest(const struct pool *p, enum limit_kind kind);

#endif
