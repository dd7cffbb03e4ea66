/* pool_move.h - an idle server goes to the same pool of another worker.
 *
 * It is counted there and here by turns, and for all workers all the while.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_POOL_MOVE_H
#define POOL_POOL_MOVE_H

#include "base/ledger.h"
#include "pool/limit_queue.h"

struct pool;
struct pool_server;

/* What it keeps of the limits on its way; zero: that one is not shared. */
struct pool_slots {
	struct ledger_trip of[LIMIT_SHARES];
};

/* ps is in no list any more. */
struct pool_slots pool_server_leave(struct pool_server *ps, unsigned to);
/* The same as one of p, idle. */
void pool_server_join(struct pool_server *ps, struct pool *p,
    struct pool_slots *slots);
/* There is no such pool: given back. */
void pool_slots_lose(struct pool_slots *slots);

#endif
