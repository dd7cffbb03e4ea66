/* limit.h - server connections per database and per user, over all pools.
 *
 * Pools that share a limit take turns: a slot goes to the one whose clients
 * have waited longest. Two rules keep connections from being closed all the
 * time (server_handover_delay): a server that its own pool needs is given up
 * when it has lived for that long, for a client that has waited so much longer
 * than the pool's own; and a server that was just used is not evicted sooner
 * for a pool that has others at work.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LIMIT_H
#define POOL_LIMIT_H

#include <stdbool.h>

#include "base/time.h"
#include "pool/close_reason.h"
#include "pool/limit_queue.h"

struct catalog;
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
 * with the eviction of spec/pooling.md section 7.
 */
enum limit_verdict limit_check(const struct pool *p, usec_t now,
    struct pool_server **victim);

/*
 * The same for a server of its own for pc, which the size of the pool limits
 * too: an idle server of the pool makes room. *reserve: past its size.
 */
enum limit_verdict limit_check_dedicated(const struct pool_client *pc, usec_t now,
    struct pool_server **victim, bool *reserve);

/* Is this limit of p reached? */
bool limit_is_full(const struct pool *p, enum limit_kind kind);
/* Is this limit of p reached, or will the next connection reach it? */
bool limit_is_near(const struct pool *p, enum limit_kind kind);

/*
 * The client gives ps back, and there are more servers than may be since a
 * limit was lowered: why ps is to be closed; CLOSE_NONE: it is not.
 */
enum close_reason limit_exceeded(const struct pool_server *ps);
/* An idle server of a pool under such a limit of p, to close now; or NULL. */
struct pool_server *limit_surplus(const struct pool *p);

/* Clients of p wait: from now on its turn may come. */
void limit_join(struct pool *p);
/*
 * The pool whose turn it is at this limit of p, and that could open a
 * connection if there were room. NULL: no pool waits that could.
 */
struct pool *limit_next(const struct pool *p, enum limit_kind kind,
    const struct catalog *c, usec_t now);
/* The same, if its client has waited longer than all of p; else NULL. */
struct pool *limit_heir(const struct pool *p, const struct catalog *c,
    usec_t now);
/*
 * ps has served a client, and others of its pool wait. Must it be closed all
 * the same, so that another pool has a slot?
 */
bool limit_takes_away(const struct pool_server *ps, const struct catalog *c,
    usec_t now);

#endif
