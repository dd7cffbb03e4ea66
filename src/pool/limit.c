/* limit.c - server connections per database and per user, over all pools.
 * SPDX-License-Identifier: ISC */
#include "pool/limit.h"

#include <stddef.h>

#include "base/ledger.h"
#include "pool/catalog.h"
#include "pool/drain.h"
#include "pool/evict.h"

/* The one whose last traffic is longest ago, of a list of a pool and best. */
static struct pool_server *older(const struct pool *p, enum server_state state,
    struct pool_server *best)
{
	for (struct pool_server *ps = p->servers[state]; ps != NULL;
	    ps = ps->next)
		if (best == NULL || ps->used < best->used)
			best = ps;
	return best;
}

unsigned limit_taken(const struct pool *p, enum limit_kind kind)
{
	const struct limit_share *const s = limit_share_of(p, kind);

	if (s->ledger != NULL)
		return ledger_taken(s->ledger, LEDGER_SERVERS);
	if (kind == LIMIT_POOL)
		return pool_total(p);
	return kind == LIMIT_DB ? p->key.db->servers : p->key.user->servers;
}

static unsigned maximum(const struct pool *p, enum limit_kind kind)
{
	const struct pool_limits *const l = &p->limits;

	if (kind == LIMIT_POOL)
		return (unsigned)l->size;
	return (unsigned)(kind == LIMIT_DB ? l->max_db : l->max_user);
}

struct pool_server *limit_find_victim(const struct pool *p,
    enum limit_kind kind)
{
	/* idle ones are handed over (limit_find_recipient) */
	return kind != LIMIT_POOL ? evict_oldest(p, kind) :
	    older(p, SERVER_USED, NULL);
}

bool limit_is_full(const struct pool *p, enum limit_kind kind)
{
	const unsigned max = maximum(p, kind);

	return max > 0 && limit_taken(p, kind) >= max;
}

bool limit_is_near(const struct pool *p, enum limit_kind kind)
{
	const unsigned max = maximum(p, kind);

	return max > 0 && limit_taken(p, kind) + 1 >= max;
}

/*
 * How many there are, but for the cancelers of cancel requests, which no limit
 * holds back.
 */
static unsigned kept(const struct pool *of, enum limit_kind kind)
{
	const struct limit_share *const s = limit_share_of(of, kind);
	const struct pool *p = kind == LIMIT_DB ? of->key.db->pools :
	    of->key.user->pools;
	unsigned n = limit_taken(of, kind);

	/* one may have gone between the two looks */
	if (s->ledger != NULL) {
		const unsigned c = ledger_taken(s->ledger, LEDGER_CANCELERS);

		return n > c ? n - c : 0;
	}
	for (; p != NULL; p = kind == LIMIT_DB ? p->db_next : p->user_next)
		n -= p->server_count[SERVER_ACTIVE_CANCEL];
	return n;
}

static bool has_more(const struct pool *p, enum limit_kind kind, unsigned max)
{
	return limit_taken(p, kind) > max && kept(p, kind) > max;
}

static inline bool is_over(const struct pool *p, enum limit_kind kind)
{
	const unsigned max = maximum(p, kind);

	return max > 0 && has_more(p, kind, max);
}

/* Hot. */
static inline bool is_oversize(const struct pool *p)
{
	const struct pool_limits *const l = &p->limits;
	const int reserve = l->reserve > 0 ? l->reserve : 0;
	const unsigned n = p->share.ledger == NULL ? pool_connected(p) :
	    kept(p, LIMIT_POOL);

	return l->size > 0 && n > (unsigned)(l->size + reserve);
}

bool limit_is_oversize(const struct pool *p)
{
	return is_oversize(p);
}

enum close_reason limit_exceeded(const struct pool_server *ps)
{
	const struct pool *p = ps->pool;

	/* a pool opens one past its size to know what to greet clients with */
	if (ps->state == SERVER_LOGIN)
		return CLOSE_NONE;
	if (is_oversize(p))
		return CLOSE_TOO_MANY_SERVERS;
	if (!limit_has_rivals(p))
		return CLOSE_NONE;
	return is_over(p, LIMIT_DB) || is_over(p, LIMIT_USER) ? CLOSE_EVICTED :
	    CLOSE_NONE;
}

struct pool_server *limit_surplus(const struct pool *p)
{
	for (int kind = 0; kind < LIMIT_KINDS; kind++) {
		struct pool_server *const ps = is_over(p, (enum limit_kind)kind) ?
		    evict_oldest(p, (enum limit_kind)kind) : NULL;

		if (ps != NULL)
			return ps;
	}
	return NULL;
}

/* victim was just used and may be soon again; p has others to wait for. */
static bool is_too_fresh(const struct pool_server *victim,
    const struct pool *p, usec_t now)
{
	const usec_t delay = p->limits.handover_delay;

	return victim->pool != p && now - victim->used < delay &&
	    p->server_count[SERVER_ACTIVE] > 0 &&
	    now - pool_uncovered_since(p) < delay;
}

enum limit_verdict limit_check(const struct pool *p, usec_t now,
    struct pool_server **victim)
{
	*victim = NULL;
	if (limit_is_full(p, LIMIT_DB))
		*victim = evict_oldest(p, LIMIT_DB);
	else if (limit_is_full(p, LIMIT_USER))
		*victim = evict_oldest(p, LIMIT_USER);
	else
		return LIMIT_FREE;
	return *victim == NULL || is_too_fresh(*victim, p, now) ?
	    LIMIT_FULL : LIMIT_EVICT;
}

enum limit_verdict limit_check_dedicated(const struct pool_client *pc, usec_t now,
    struct pool_server **victim, bool *reserve)
{
	const struct pool *p = pc->pool;
	const int size = p->limits.size;

	*reserve = false;
	if (size <= 0 || pool_held(p) < (unsigned)size)
		return limit_check(p, now, victim);
	*victim = older(p, SERVER_IDLE, NULL);
	*victim = older(p, SERVER_USED, *victim);
	if (*victim != NULL)
		return LIMIT_EVICT;
	*reserve = pool_reserve_is_due(p, pc, now);
	return *reserve ? limit_check(p, now, victim) : LIMIT_FULL;
}

/* --- turns --- */

static struct limit_queue *queue_of(const struct pool *p, enum limit_kind kind)
{
	return kind == LIMIT_DB ? &p->key.db->queue : &p->key.user->queue;
}

void limit_join(struct pool *p)
{
	if (p->limits.max_db > 0)
		limit_queue_add(&p->key.db->queue, p);
	if (p->limits.max_user > 0)
		limit_queue_add(&p->key.user->queue, p);
}

/* Is there room for p under a limit, or could it be made? */
static bool has_room(const struct pool *p, enum limit_kind kind)
{
	return !limit_is_full(p, kind) || evict_oldest(p, kind) != NULL;
}

/* A part of a pool that is at its size: a server that comes brings its slots. */
static bool part_can_take(const struct pool *p, const struct catalog *c,
    usec_t now)
{
	return !pool_is_paused(p, c) && !drain_stops(c, p, now) &&
	    (pool_uncovered(p) > 0 || pool_pick_dedicated(p, now) != NULL);
}

/* Could p do something with room under this limit? */
static bool can_take(const struct pool *p, enum limit_kind kind,
    const struct catalog *c, usec_t now)
{
	const enum limit_kind other = kind == LIMIT_DB ? LIMIT_USER : LIMIT_DB;
	const int size = p->limits.size;
	bool reserve;

	if (pool_is_paused(p, c) || drain_stops(c, p, now))
		return false;
	/* for servers of their own, a pool at its size has room or has not */
	if (pool_wanted(p, now, &reserve) == 0 &&
	    ((size > 0 && pool_held(p) >= (unsigned)size) ||
	    pool_pick_dedicated(p, now) == NULL))
		return false;
	return has_room(p, other);
}

struct pool *limit_next(const struct pool *p, enum limit_kind kind,
    const struct catalog *c, usec_t now)
{
	if (kind == LIMIT_POOL)
		return part_can_take(p, c, now) ? (struct pool *)p : NULL;
	struct limit_queue *const l = queue_of(p, kind);
	struct pool *next;

	/* a pool that can't go on enters it again when it is looked at */
	while ((next = limit_queue_first(l)) != NULL && !can_take(next, kind, c, now))
		limit_queue_remove(l, next);
	return next;
}

/* Has somebody in q waited longer than all in p? */
static bool waits_longer(const struct pool *q, const struct pool *p)
{
	const usec_t since = pool_waiting_since(p);

	return q != NULL && q != p &&
	    (since == 0 || pool_uncovered_since(q) < since);
}

struct pool *limit_heir(const struct pool *p, const struct catalog *c,
    usec_t now)
{
	for (int kind = 0; kind < LIMIT_KINDS; kind++) {
		struct pool *const q = limit_is_near(p, (enum limit_kind)kind) ?
		    limit_next(p, (enum limit_kind)kind, c, now) : NULL;

		if (waits_longer(q, p))
			return q;
	}
	return NULL;
}

bool limit_takes_away(const struct pool_server *ps, const struct catalog *c,
    usec_t now)
{
	const struct pool *p = ps->pool;
	const usec_t delay = p->limits.handover_delay;

	if (delay <= 0 || now - ps->born < delay)
		return false;
	for (int kind = 0; kind < LIMIT_KINDS; kind++) {
		const enum limit_kind k = (enum limit_kind)kind;
		const struct pool *const q = limit_is_full(p, k) ?
		    limit_next(p, k, c, now) : NULL;

		/* what was in vain last time is not worth a good server */
		if (q != NULL && q != p && !q->failing &&
		    pool_uncovered_since(q) + delay <= pool_waiting_since(p))
			return true;
	}
	return limit_rival_takes_away(p);
}
