/* limit.c - server connections per database and per user, over all pools.
 * SPDX-License-Identifier: ISC */
#include "pool/limit.h"

#include <stddef.h>
#include <utlist.h>

#include "base/container.h"
#include "base/ledger.h"
#include "pool/catalog.h"
#include "pool/hosts.h"

/* Returns the server whose last traffic is longest ago, of the list and best. */
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
	/* idle servers are handed over instead (limit_find_recipient) */
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
 * The number of servers, without those that carry cancel requests, which no
 * limit holds back.
 */
static unsigned kept(const struct pool *of, enum limit_kind kind)
{
	const struct limit_share *const s = limit_share_of(of, kind);
	const struct pool *p = kind == LIMIT_DB ? of->key.db->pools :
	    of->key.user->pools;
	unsigned n = limit_taken(of, kind);

	/* one may have gone between the two reads */
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

	/* a pool may open one server past its size in order to get a welcome */
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

/*
 * Was the victim used just now, so that it may be needed again soon, while p
 * can wait for another one?
 */
static bool limit_is_too_fresh(const struct pool_server *victim,
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
	return *victim == NULL || limit_is_too_fresh(*victim, p, now) ?
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

/* Does the limit have room for p, or could room be made? */
static bool limit_has_room(const struct pool *p, enum limit_kind kind)
{
	return !limit_is_full(p, kind) || evict_oldest(p, kind) != NULL;
}

/*
 * The part of a pool is at its size. A server that moves here brings its slots.
 */
static bool part_can_take(const struct pool *p, const struct catalog *c,
    usec_t now)
{
	return !pool_is_paused(p, c) && !drain_stops(c, p, now) &&
	    (pool_uncovered(p) > 0 || pool_pick_dedicated(p, now) != NULL);
}

/* Could p use room under this limit? */
static bool can_take(const struct pool *p, enum limit_kind kind,
    const struct catalog *c, usec_t now)
{
	const enum limit_kind other = kind == LIMIT_DB ? LIMIT_USER : LIMIT_DB;
	const int size = p->limits.size;
	bool reserve;

	if (pool_is_paused(p, c) || drain_stops(c, p, now))
		return false;
	/*
	 * for dedicated servers, a pool at its size either has room or has not
	 */
	if (pool_wanted(p, now, &reserve) == 0 &&
	    ((size > 0 && pool_held(p) >= (unsigned)size) ||
	    pool_pick_dedicated(p, now) == NULL))
		return false;
	return limit_has_room(p, other);
}

struct pool *limit_next(const struct pool *p, enum limit_kind kind,
    const struct catalog *c, usec_t now)
{
	if (kind == LIMIT_POOL)
		return part_can_take(p, c, now) ? (struct pool *)p : NULL;
	struct limit_queue *const l = queue_of(p, kind);
	struct pool *next;

	/*
	 * a pool that cannot go on enters the queue again when it is looked at
	 */
	while ((next = limit_queue_first(l)) != NULL && !can_take(next, kind, c, now))
		limit_queue_remove(l, next);
	return next;
}

/* Has a client of q waited longer than every client of p? */
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

		/*
		 * a pool whose last attempt failed is not worth a good server
		 */
		if (q != NULL && q != p && !q->failing &&
		    pool_uncovered_since(q) + delay <= pool_waiting_since(p))
			return true;
	}
	return limit_rival_takes_away(p);
}

bool evict_is_candidate(enum server_state state)
{
	return state == SERVER_IDLE || state == SERVER_USED ||
	    state == SERVER_TESTED;
}

static struct pool_server **limit_list_of(const struct pool *p,
    enum limit_kind kind)
{
	return kind == LIMIT_DB ? &p->key.db->evictable : &p->key.user->evictable;
}

static bool is_limited(const struct pool *p, enum limit_kind kind)
{
	return (kind == LIMIT_DB ? p->limits.max_db : p->limits.max_user) > 0;
}

static bool is_listed(const struct pool_server *ps, enum limit_kind kind)
{
	return ps->evict[kind].prev != NULL;
}

static void leave(struct pool_server *ps, enum limit_kind kind)
{
	struct pool_server **const list = limit_list_of(ps->pool, kind);

	DL_DELETE2(*list, ps, evict[kind].prev, evict[kind].next);
	ps->evict[kind].prev = ps->evict[kind].next = NULL;
}

/* Searches from the end, because the server was nearly always used just now. */
static void enter(struct pool_server *ps, enum limit_kind kind)
{
	struct pool_server **const list = limit_list_of(ps->pool, kind);
	struct pool_server *at = *list == NULL ? NULL :
	    (*list)->evict[kind].prev;

	while (at != NULL && at->used > ps->used)
		at = at == *list ? NULL : at->evict[kind].prev;
	if (at == NULL)
		DL_PREPEND2(*list, ps, evict[kind].prev, evict[kind].next);
	else
		DL_APPEND_ELEM2(*list, at, ps, evict[kind].prev,
		    evict[kind].next);
}

/* Is ps between a server that was used earlier and one that was used later? */
static bool is_in_place(const struct pool_server *ps, enum limit_kind kind)
{
	const struct pool_server *const head = *limit_list_of(ps->pool, kind);
	const struct evict_place *const at = &ps->evict[kind];

	return (ps == head || at->prev->used <= ps->used) &&
	    (at->next == NULL || ps->used <= at->next->used);
}

static void limit_update(struct pool_server *ps, enum limit_kind kind)
{
	const bool wanted = evict_is_candidate((enum server_state)ps->state) &&
	    is_limited(ps->pool, kind);

	if (is_listed(ps, kind)) {
		if (wanted && is_in_place(ps, kind))
			return;
		leave(ps, kind);
	}
	if (wanted)
		enter(ps, kind);
}

void evict_update(struct pool_server *ps)
{
	for (int kind = 0; kind < LIMIT_KINDS; kind++)
		limit_update(ps, (enum limit_kind)kind);
}

/* A server under test is nearly promised to a client that waits there. */
static bool limit_may_go(const struct pool_server *ps)
{
	return ps->state == SERVER_IDLE ||
	    ps->pool->client_count[CLIENT_WAITING] == 0;
}

struct pool_server *evict_oldest(const struct pool *p, enum limit_kind kind)
{
	struct pool_server *ps = *limit_list_of(p, kind), *next;

	for (; ps != NULL; ps = next) {
		next = ps->evict[kind].next;
		/*
		 * ps has received something meanwhile, for example a
		 * notification
		 */
		if (next != NULL && ps->used > next->used)
			limit_update(ps, kind);
		else if (limit_may_go(ps))
			return ps;
	}
	return NULL;
}

/*
 * A worker that has servers to spare was called in vain, and is called again
 * after this.
 */
#define CALL_AGAIN (USEC / 100)

/* Applies for each server that moves in the same turn. */
#define MORE_DELAYS 5

struct limit_share *limit_share_of(const struct pool *p, enum limit_kind kind)
{
	if (kind == LIMIT_DB)
		return &p->key.db->share;
	return kind == LIMIT_USER ? &p->key.user->share :
	    &((struct pool *)p)->share;
}

/* Returns any pool under the limit, or NULL: there is none. */
static struct pool *any_pool(struct limit_share *s)
{
	switch (s->kind) {
	case LIMIT_DB:
		return container_of(s, struct database, share)->pools;
	case LIMIT_USER:
		return container_of(s, struct user, share)->pools;
	case LIMIT_POOL:
	case LIMIT_SHARES:
		break;
	}
	return container_of(s, struct pool, share);
}

bool limit_is_limited(const struct pool *p, enum limit_kind kind)
{
	if (kind == LIMIT_POOL)
		return p->limits.size > 0;
	return (kind == LIMIT_DB ? p->limits.max_db : p->limits.max_user) > 0;
}

void limit_enter(struct limit_share *s, enum server_state state)
{
	if (!s->promised)
		ledger_add(s->ledger, LEDGER_SERVERS);
	s->promised = false;
	if (state == SERVER_ACTIVE_CANCEL)
		ledger_add(s->ledger, LEDGER_CANCELERS);
}

void limit_leave(struct limit_share *s, enum server_state state)
{
	if (state == SERVER_ACTIVE_CANCEL)
		ledger_give(s->ledger, LEDGER_CANCELERS);
	ledger_give(s->ledger, LEDGER_SERVERS);
	/* the rival will see whether it is first */
	ledger_call_rival(s->ledger);
}

/* max 0: no limit. */
static bool limit_workers_take(struct limit_share *s, unsigned max)
{
	if (s->ledger == NULL)
		return true;
	if (max == 0)
		ledger_add(s->ledger, LEDGER_SERVERS);
	else if (!ledger_take(s->ledger, LEDGER_SERVERS, max))
		return false;
	s->promised = true;
	return true;
}

bool limit_take_unsized(struct pool *p)
{
	return limit_workers_take(&p->key.db->share,
		   (unsigned)p->limits.max_db) &&
	    limit_workers_take(&p->key.user->share,
		(unsigned)p->limits.max_user);
}

bool limit_take(struct pool *p, usec_t now)
{
	const unsigned max = p->share.ledger == NULL ? 0 :
	    pool_maximum(p, now);

	return limit_workers_take(&p->share, max) && limit_take_unsized(p);
}

void limit_give_back(struct pool *p)
{
	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct limit_share *const s = limit_share_of(p,
		    (enum limit_kind)kind);

		if (!s->promised)
			continue;
		s->promised = false;
		ledger_give(s->ledger, LEDGER_SERVERS);
		ledger_call_rival(s->ledger);
	}
}

/*
 * A pool that fails begins its wait again each time, because no pool gives up a
 * good server for it.
 */
static usec_t since(const struct pool *p, usec_t now)
{
	const usec_t uncovered = pool_uncovered_since(p);

	if (p->failing)
		return now;
	return uncovered != 0 ? uncovered : pool_waiting_since(p);
}

/*
 * Has a part fewer servers than its share, or the pool of a user or database
 * none?
 */
static bool is_in_need(const struct pool *p, enum limit_kind kind)
{
	return kind == LIMIT_POOL ? pool_total(p) < p->lease :
	    p->server_count[SERVER_ACTIVE] == 0;
}

struct pool *limit_tell(struct limit_share *s, const struct catalog *c,
    usec_t now)
{
	struct pool *const any = any_pool(s);
	struct pool *const p = any == NULL ? NULL :
	    limit_next(any, s->kind, c, now);
	struct ledger_want want = { 0 };

	if (p != NULL && limit_is_limited(p, s->kind))
		want = (struct ledger_want){ .since = since(p, now),
			.in_need = is_in_need(p, s->kind),
			.count = pool_uncovered(p) };
	ledger_want(s->ledger, want);
	return p;
}

static bool limit_workers_ask(struct pool *p, enum limit_kind kind,
    const struct catalog *c, usec_t now)
{
	struct limit_share *const s = limit_share_of(p, kind);

	if (s->ledger == NULL || !limit_is_limited(p, kind))
		return false;
	const bool is_known = ledger_wants(s->ledger) != 0 &&
	    (kind != LIMIT_POOL || pool_uncovered(p) <=
	    ledger_wanted(s->ledger));

	if (limit_tell(s, c, now) == NULL)
		return false;
	/* a worker that gave a slot before it was told has called nobody */
	if (!limit_is_full(p, kind))
		return !is_known;
	if (!is_known || now - s->called_at >= CALL_AGAIN) {
		s->called_at = now;
		if (kind == LIMIT_POOL)
			ledger_call_idle(s->ledger);
		else
			ledger_call_servers(s->ledger);
	}
	return false;
}

bool limit_ask(struct pool *p, const struct catalog *c, usec_t now)
{
	bool found = false;

	/*
	 * a server that moves to another part is not closed, so nobody must
	 * make room
	 */
	for (int kind = LIMIT_SHARES; kind-- > 0;)
		found = limit_workers_ask(p, (enum limit_kind)kind, c, now) ||
		    found;
	return found;
}

/* Returns the rival under a limit that is nearly reached; since 0: none. */
static struct ledger_want rival(const struct pool *p, enum limit_kind kind)
{
	const struct limit_share *const s = limit_share_of(p, kind);

	return s->ledger == NULL || !limit_is_near(p, kind) ?
	    (struct ledger_want){ 0 } : ledger_rival(s->ledger);
}

bool limit_is_rival_first(const struct pool *p)
{
	const usec_t own = pool_waiting_since(p);

	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		const usec_t other = rival(p, (enum limit_kind)kind).since;

		if (other != 0 && (own == 0 || other < own))
			return true;
	}
	return false;
}

/* Has part p more servers than its share, and another part fewer? */
static bool is_lease_due(const struct pool *p, const struct ledger_want *other)
{
	return other->in_need && pool_total(p) > p->lease;
}

/*
 * Does the client with the longest wait under a limit of p belong to another
 * part of it?
 */
static bool is_of_part(const struct pool *p, struct ledger_want rival,
    unsigned *worker)
{
	const struct ledger_want part = p->share.ledger == NULL ?
	    (struct ledger_want){ 0 } : ledger_recipient(p->share.ledger);

	*worker = part.worker;
	return part.since != 0 && part.since <= rival.since;
}

bool limit_rival_takes_away(const struct pool *p)
{
	unsigned worker;

	for (int kind = 0; kind < LIMIT_KINDS; kind++) {
		const enum limit_kind k = (enum limit_kind)kind;
		const struct ledger_want other = limit_is_full(p, k) ?
		    rival(p, k) : (struct ledger_want){ 0 };

		/* a server moves to another part of p as it is */
		if (other.since != 0 && other.since +
		    p->limits.handover_delay <= pool_waiting_since(p) &&
		    !is_of_part(p, other, &worker))
			return true;
	}
	return false;
}

/* How many servers leave p at the end of this turn? */
static unsigned count_ahead(const struct pool *p)
{
	const struct pool_server *ps = p->servers[SERVER_IDLE];
	unsigned n = 0;

	for (; ps != NULL; ps = ps->next)
		n += ps->trip == TRIP_AHEAD;
	return n;
}

/*
 * By how much must clients of another part have waited longer than those of p?
 * A loop that is late must read from its own servers first, and p has clients
 * for this one. If several servers become free at once, more than one moves
 * only if clients have waited for a long time. Without the leases, all servers
 * would end up at one part, and its worker would do all the work.
 */
static usec_t patience(const struct pool *p, const struct ledger_want *other)
{
	const usec_t delay = p->limits.worker_handover_delay;
	const usec_t more = count_ahead(p) * MORE_DELAYS * delay;

	return more + (is_lease_due(p, other) ? -delay / 2 : delay);
}

bool limit_find_recipient(const struct pool *p, unsigned *worker)
{
	const struct ledger_want other = ledger_recipient(p->share.ledger);
	const usec_t own = pool_waiting_since(p);

	*worker = other.worker;
	if (other.since == 0 || own == 0)
		return other.since != 0;
	return other.since + patience(p, &other) <= own;
}

/* See limit_check(). */
static bool limit_workers_is_too_fresh(const struct pool_server *victim,
    struct ledger_want rival, usec_t now)
{
	const usec_t delay = victim->pool->limits.handover_delay;

	return now - victim->used < delay && !rival.in_need &&
	    now - rival.since < delay;
}

struct pool_server *limit_yield(struct limit_share *s,
    const struct catalog *c, usec_t now)
{
	struct pool *const p = any_pool(s);

	if (p == NULL || !limit_is_full(p, s->kind))
		return NULL;
	const struct ledger_want other = s->kind == LIMIT_POOL ?
	    ledger_recipient(s->ledger) : ledger_rival(s->ledger);
	struct pool_server *const victim = other.since == 0 ? NULL :
	    limit_find_victim(p, s->kind);
	const struct pool *const own = victim == NULL ? NULL :
	    limit_next(p, s->kind, c, now);

	if (victim == NULL || limit_workers_is_too_fresh(victim, other, now) ||
	    (own != NULL && since(own, now) <= other.since))
		return NULL;
	return victim;
}

bool limit_goes_to_part(const struct limit_share *s,
    const struct pool_server *ps, unsigned *worker)
{
	return is_of_part(ps->pool, ledger_rival(s->ledger), worker);
}

void limit_pass_on(struct limit_share *s)
{
	const struct pool *const p = any_pool(s);
	const usec_t own = ledger_wants(s->ledger);
	const usec_t other = ledger_rival(s->ledger).since;

	/* the first in the queue is called by nobody: it looks by itself */
	if (other != 0 && (own == 0 || other < own) &&
	    (p == NULL || !limit_is_full(p, s->kind)))
		ledger_call_rival(s->ledger);
}
