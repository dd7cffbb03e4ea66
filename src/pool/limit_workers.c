/* limit_workers.c - limits over the servers that several workers have.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "base/container.h"
#include "base/ledger.h"
#include "pool/catalog.h"
#include "pool/limit.h"

/* Who has something to spare was called for nothing: again then. */
#define CALL_AGAIN (USEC / 100)

/* For each server that goes in the same turn. */
#define MORE_DELAYS 5

/* --- of whom it is --- */

struct limit_share *limit_share_of(const struct pool *p, enum limit_kind kind)
{
	if (kind == LIMIT_DB)
		return &p->key.db->share;
	return kind == LIMIT_USER ? &p->key.user->share :
	    &((struct pool *)p)->share;
}

/* Any pool under the limit; NULL: there is none. */
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

/* --- slots --- */

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
	/* it will see whether it is first */
	ledger_call_rival(s->ledger);
}

/* max 0: there is no limit. */
static bool take(struct limit_share *s, unsigned max)
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
	return take(&p->key.db->share, (unsigned)p->limits.max_db) &&
	    take(&p->key.user->share, (unsigned)p->limits.max_user);
}

bool limit_take(struct pool *p, usec_t now)
{
	const unsigned max = p->share.ledger == NULL ? 0 :
	    pool_maximum(p, now);

	return take(&p->share, max) && limit_take_unsized(p);
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

/* --- turns --- */

/* A pool that fails waits anew each time: nobody gives a good server for it. */
static usec_t since(const struct pool *p, usec_t now)
{
	const usec_t uncovered = pool_uncovered_since(p);

	if (p->failing)
		return now;
	return uncovered != 0 ? uncovered : pool_waiting_since(p);
}

/* A part has fewer than its share, or the pool of a user or database none. */
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

static bool ask(struct pool *p, enum limit_kind kind, const struct catalog *c,
    usec_t now)
{
	struct limit_share *const s = limit_share_of(p, kind);

	if (s->ledger == NULL || !limit_is_limited(p, kind))
		return false;
	const bool is_known = ledger_wants(s->ledger) != 0 &&
	    (kind != LIMIT_POOL || pool_uncovered(p) <=
	    ledger_wanted(s->ledger));

	if (limit_tell(s, c, now) == NULL)
		return false;
	/* whoever gave before it was told has called nobody */
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

	/* what goes to another part as it is makes nobody close anything */
	for (int kind = LIMIT_SHARES; kind-- > 0;)
		found = ask(p, (enum limit_kind)kind, c, now) || found;
	return found;
}

/* The rival under a limit that is near; since 0: there is none. */
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

/* Has the part p more than its share, and another one less? */
static bool is_lease_due(const struct pool *p, const struct ledger_want *other)
{
	return other->in_need && pool_total(p) > p->lease;
}

/* Is the longest wait under a limit of p that of another part of it? */
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

		/* to another part of p it goes as it is */
		if (other.since != 0 && other.since +
		    p->limits.handover_delay <= pool_waiting_since(p) &&
		    !is_of_part(p, other, &worker))
			return true;
	}
	return false;
}

/* How many leave p already, at the end of this turn? */
static unsigned count_ahead(const struct pool *p)
{
	const struct pool_server *ps = p->servers[SERVER_IDLE];
	unsigned n = 0;

	for (; ps != NULL; ps = ps->next)
		n += ps->trip == TRIP_AHEAD;
	return n;
}

/*
 * By how much longer do the clients of another part have to wait than those of p?
 * A loop that is behind has servers of its own to read from first, and p has
 * clients for this one: of several that come free at once, more than one goes
 * where clients wait for long only. Without what is due by leases, all servers
 * would end up at one part, and its worker would be busy for all.
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

/* (limit_check) */
static bool is_too_fresh(const struct pool_server *victim,
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

	if (victim == NULL || is_too_fresh(victim, other, now) ||
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

	/* who is first is called by nobody: it looks by itself */
	if (other != 0 && (own == 0 || other < own) &&
	    (p == NULL || !limit_is_full(p, s->kind)))
		ledger_call_rival(s->ledger);
}
