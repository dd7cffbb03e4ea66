/* limit.h - server connections per database and per user, over all pools.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LIMIT_H
#define POOL_LIMIT_H

#include <stdbool.h>

struct pool;
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

#endif
