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
#include "pool/members.h"
#include "pool/pool.h"

struct catalog;

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

/* Hot: may other pools, or parts of p, be after its servers? */
static inline bool limit_has_rivals(const struct pool *p)
{
	return (p->limits.max_db | p->limits.max_user) > 0 ||
	    p->share.ledger != NULL;
}

/* The oldest idle server that makes room under this limit of p; NULL: none. */
struct pool_server *limit_find_victim(const struct pool *p,
    enum limit_kind kind);
/* The servers that count against this limit of p, at all workers. */
unsigned limit_taken(const struct pool *p, enum limit_kind kind);
bool limit_is_limited(const struct pool *p, enum limit_kind kind);
/* Is this limit of p reached? */
bool limit_is_full(const struct pool *p, enum limit_kind kind);
/* Is this limit of p reached, or will the next connection reach it? */
bool limit_is_near(const struct pool *p, enum limit_kind kind);

/*
 * The client gives ps back, and there are more servers than may be since a
 * limit was lowered: why ps is to be closed; CLOSE_NONE: it is not.
 */
enum close_reason limit_exceeded(const struct pool_server *ps);
/* Has p more servers than its size and the reserve? */
bool limit_is_oversize(const struct pool *p);
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

/*
 * --- where several workers have servers of one user, database or pool ---
 *
 * They take turns as pools do: each says since when its clients wait, a free
 * slot is for whose wait is longest, and idle servers of the others make room.
 */

/* Of p under this limit; without a ledger it is not shared. */
struct limit_share *limit_share_of(const struct pool *p, enum limit_kind kind);
/* A server comes into being, or is gone; s has a ledger. */
void limit_enter(struct limit_share *s, enum server_state state);
void limit_leave(struct limit_share *s, enum server_state state);
/*
 * A slot for the next server of p, if another worker was not faster. Whether it
 * is taken or not, what is not used is to be given back. With one worker: true.
 */
bool limit_take(struct pool *p, usec_t now);
bool limit_take_unsized(struct pool *p);	/* its size does not count it */
void limit_give_back(struct pool *p);

/*
 * p found no room: the others are told, and asked for what they can spare. True:
 * there is room meanwhile.
 */
bool limit_ask(struct pool *p, const struct catalog *c, usec_t now);
/* What the others were told of s may be past: the pool whose turn it is; NULL. */
struct pool *limit_tell(struct limit_share *s, const struct catalog *c,
    usec_t now);
/* Is the next slot under a shared limit another worker's, not p's? */
bool limit_is_rival_first(const struct pool *p);
/* The same for a server that has served p, as limit_takes_away(). */
bool limit_rival_takes_away(const struct pool *p);
/* An idle server to be closed, as another worker has waited longer; NULL. */
struct pool_server *limit_yield(struct limit_share *s,
    const struct catalog *c, usec_t now);
/* Not closed, if it is a part of its own pool that waits: it goes to *worker. */
bool limit_goes_to_part(const struct limit_share *s,
    const struct pool_server *ps, unsigned *worker);
/*
 * p has parts, and a server that is idle. Is that for clients of another part: p has
 * none that waits, or none that came within worker_handover_delay of them; or none
 * that came half of that before them, where p has more than its lease and the
 * other one less? Then *worker has that part.
 */
bool limit_find_recipient(const struct pool *p, unsigned *worker);
/* There may be room that another worker waits for. */
void limit_pass_on(struct limit_share *s);

/*
 * Idle servers under a limit, in order of their last use.
 *
 * Where a limit of a database or a user is reached, the one that was not used
 * for longest makes room. It is found without a look at the pools.
 */

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
