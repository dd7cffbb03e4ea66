/* limit.h - server connections per database and per user, over all pools.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LIMIT_H
#define POOL_LIMIT_H

#include <stdbool.h>

#include "base/time.h"

struct pool;
struct pool_client;
struct pool_server;

enum limit_verdict {
	LIMIT_FREE,	/* open one */
	LIMIT_EVICT,	/* close *victim first, then ask again */
	LIMIT_FULL,	/* wait */
};

/*
 * May p open one more server? max_db_connections and max_user_connections,
 * with the eviction of pooling.md section 7.
 */
enum limit_verdict limit_check(const struct pool *p,
    struct pool_server **victim);

/*
 * The same for a server of its own for pc, which the size of the pool limits
 * too: a spare server of the pool makes room. *reserve: past its size.
 */
enum limit_verdict limit_check_own(const struct pool_client *pc, usec_t now,
    struct pool_server **victim, bool *reserve);

#endif
