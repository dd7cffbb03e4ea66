/* pool.c - which client gets which server connection: states, queue, limits.
 * SPDX-License-Identifier: ISC */
#include "pool/pool.h"

#include <stddef.h>
#include <stdint.h>
#include <utlist.h>

#include "base/ledger.h"
#include "base/mem.h"
#include "base/time.h"
#include "pool/catalog.h"
#include "pool/limit.h"

#define VACANT USEC	/* after idle servers were closed for somebody */

/*
 * Where a server enters the list of its state. Idle servers are a stack, so
 * that the rest can grow old, unless round robin is asked for.
 */
static bool enters_in_front(const struct pool_server *ps,
    enum server_state state)
{
	/* clients leave the clean ones alone as long as there are others */
	if (state == SERVER_IDLE)
		return !ps->pool->limits.round_robin && !ps->close_needed &&
		    ps->trip != TRIP_AHEAD && ps->lent;
	return state == SERVER_USED;
}

/* Was ps not reckoned with when the idle servers were looked at? */
static bool upsets_idle(const struct pool_server *ps, enum server_state state)
{
	static const uint32_t new = 1u << SERVER_GONE | 1u << SERVER_LOGIN |
	    1u << SERVER_DEDICATED_LOGIN;

	if ((new >> ps->state & 1) != 0)
		return true;
	/* the client of ps said nothing for long */
	return (state == SERVER_IDLE || state == SERVER_USED) &&
	    ps->used < ps->pool->idle_seen_at;
}

/* Does it count for the size of its pool? */
static bool is_sized(enum server_state state)
{
	return state < SERVER_LISTENING;
}

/*
 * One more, or less, under a limit that workers have together. One in the mail
 * stays counted.
 */
static void count_shared(struct limit_share *s, const struct pool_server *ps,
    enum server_state state)
{
	const enum server_state before = (enum server_state)ps->state;
	const bool was = s->kind == LIMIT_POOL ? is_sized(before) :
	    before != SERVER_GONE;
	const bool is = s->kind == LIMIT_POOL ? is_sized(state) :
	    state != SERVER_GONE;

	if (s->ledger == NULL || was == is || ps->trip == TRIP_MAIL)
		return;
	if (is)
		limit_enter(s, state);
	else
		limit_leave(s, before);
}

/* ps comes into being, or is gone: fewer or more are there of its limits. */
static void pool_count(const struct pool_server *ps, enum server_state state)
{
	struct pool *const p = ps->pool;
	const int n = (state != SERVER_GONE) - (ps->state != SERVER_GONE);

	p->key.db->servers += (unsigned)n;
	p->key.user->servers += (unsigned)n;
	count_shared(&p->share, ps, state);
	count_shared(&p->key.db->share, ps, state);
	count_shared(&p->key.user->share, ps, state);
}

void pool_server_set(struct pool_server *ps, enum server_state state)
{
	struct pool *p = ps->pool;

	if (upsets_idle(ps, state))
		p->idle_due_at = 0;
	/* hot: what goes from one of the others to another one counts as it did */
	if (!is_sized((enum server_state)ps->state) || !is_sized(state))
		pool_count(ps, state);
	if (ps->state != SERVER_GONE) {
		DL_DELETE(p->servers[ps->state], ps);
		p->server_count[ps->state]--;
	}
	if (state != SERVER_GONE) {
		if (enters_in_front(ps, state))
			DL_PREPEND(p->servers[state], ps);
		else
			DL_APPEND(p->servers[state], ps);
		p->server_count[state]++;
	}
	ps->state = (uint8_t)state;
	if (evict_is_limited(p))
		evict_update(ps);
	wheel_wake(&p->wheel);
}

/* Other parts of the pool may be emptier. */
static void count_client(const struct pool_client *pc, enum client_state state)
{
	struct ledger *const l = pc->pool->share.ledger;

	if ((pc->state == CLIENT_LOGIN) == (state == CLIENT_LOGIN))
		return;
	if (state == CLIENT_LOGIN)
		ledger_give(l, LEDGER_CLIENTS);
	else
		ledger_add(l, LEDGER_CLIENTS);
}

void pool_client_set(struct pool_client *pc, enum client_state state)
{
	struct pool *p = pc->pool;

	if (pc->lookup)
		p->lookups += (state == CLIENT_WAITING) -
		    (unsigned)(pc->state == CLIENT_WAITING);
	if (pc->urgent)
		p->urgent += (state == CLIENT_WAITING) -
		    (unsigned)(pc->state == CLIENT_WAITING);

	if (pc->state != CLIENT_LOGIN) {
		DL_DELETE(p->clients[pc->state], pc);
		p->client_count[pc->state]--;
	}
	if (state != CLIENT_LOGIN) {
		DL_APPEND(p->clients[state], pc);
		p->client_count[state]++;
	}
	if (p->share.ledger != NULL)
		count_client(pc, state);
	pc->state = (uint8_t)state;
	wheel_wake(&p->wheel);
}

void pool_link(struct pool_client *pc, struct pool_server *ps)
{
	pc->server = ps;
	ps->client = pc;
	ps->lent = ps->lent || !pc->lookup;
	ps->mode = (uint8_t)ps->pool->limits.mode;
	pool_server_set(ps, SERVER_ACTIVE);
	ps->pool->counted.now.server_assignment_count++;
}

void pool_unlink(struct pool_client *pc)
{
	pc->server->client = NULL;
	pc->server = NULL;
}

void pool_recheck(struct pool *p)
{
	p->idle_due_at = 0;
	wheel_wake(&p->wheel);
}

unsigned pool_connected(const struct pool *p)
{
	return p->server_count[SERVER_ACTIVE] + p->server_count[SERVER_IDLE] +
	    p->server_count[SERVER_USED] + p->server_count[SERVER_TESTED] +
	    p->server_count[SERVER_BEING_CANCELED];
}

unsigned pool_total(const struct pool *p)
{
	return pool_connected(p) + p->server_count[SERVER_LOGIN] +
	    p->server_count[SERVER_DEDICATED_LOGIN] +
	    p->server_count[SERVER_ACTIVE_CANCEL];
}

unsigned pool_held(const struct pool *p)
{
	return p->share.ledger == NULL ? pool_total(p) :
	    limit_taken(p, LIMIT_POOL);
}

struct pool_server *pool_pick_server(const struct pool *p)
{
	struct pool_server *ps = p->servers[SERVER_IDLE];

	/* obsolete ones wait for the upkeep; new ones may stand behind them */
	while (ps != NULL && !pool_is_usable(ps))
		ps = ps->next;
	return ps;
}

struct pool_client *pool_pick_client(const struct pool *p)
{
	return p->clients[CLIENT_WAITING];
}

/* The first client that has no server of its own on its way. */
static struct pool_client *first_dedicated(const struct pool *p)
{
	struct pool_client *pc = p->clients[CLIENT_DEDICATED_WAITING];

	while (pc != NULL && pc->server != NULL)
		pc = pc->next;
	return pc;
}

static usec_t pool_earlier(usec_t since, const struct pool_client *pc)
{
	return pc != NULL && (since == 0 || pc->wait_since < since) ?
	    pc->wait_since : since;
}

usec_t pool_waiting_since(const struct pool *p)
{
	usec_t since = pool_earlier(0, p->clients[CLIENT_WAITING]);

	since = pool_earlier(since, p->clients[CLIENT_WELCOME]);
	return pool_earlier(since, p->clients[CLIENT_DEDICATED_WAITING]);
}

bool pool_lifetime_over(const struct pool_server *ps, usec_t now)
{
	const struct pool *p = ps->pool;
	const usec_t life = p->limits.lifetime;
	const int size = p->lease > 0 ? (int)p->lease : p->limits.size;

	if (now - ps->born < life)
		return false;
	return size <= 0 || now - p->last_lifetime_close >= life / size;
}

enum pool_release pool_release_verdict(struct pool_server *ps, bool lent,
    usec_t now, enum close_reason *why)
{
	const struct pool *p = ps->pool;
	const bool fresh = ps->state == SERVER_LOGIN;

	if (!fresh && pool_lifetime_over(ps, now)) {
		*why = CLOSE_SERVER_LIFETIME_OVER;
		return POOL_TO_CLOSE;
	}
	if (ps->close_needed) {
		*why = CLOSE_NEEDED;
		return POOL_TO_CLOSE;
	}
	if (ps->cancels > 0)
		return POOL_TO_BEING_CANCELED;
	if (ps->dedicated) {
		*why = CLOSE_REPLICATION_CLIENT_CLOSED;
		return POOL_TO_CLOSE;
	}
	if (lent && (p->limits.reset || (p->limits.can_reset &&
	    ps->mode == POOL_SESSION)))
		return POOL_TO_TESTED;
	if (ps->stained)
		return POOL_TO_CLEANED;
	if (p->limits.check && ((lent && p->limits.check_delay == 0) ||
	    (!ps->lent && p->check_failed)))
		return POOL_TO_USED;
	return POOL_TO_IDLE;
}

bool pool_reserve_is_due(const struct pool *p, const struct pool_client *pc,
    usec_t now)
{
	const struct pool_limits *l = &p->limits;

	return l->reserve_timeout > 0 && l->reserve > 0 && pc != NULL &&
	    now - pc->wait_since >= l->reserve_timeout &&
	    pool_held(p) < (unsigned)l->size + (unsigned)l->reserve;
}

bool pool_may_retry(const struct pool *p, usec_t now)
{
	/* even if there is no pause to make: once a turn */
	return !p->failing || (now > p->last_launch &&
	    now - p->last_launch >= p->limits.login_retry);
}

/* Without a client, the next attempt need not be as soon as with one. */
#define ALONE_MIN (USEC / 2)
#define ALONE_MAX (300 * USEC)

usec_t pool_retry_alone(const struct pool *p)
{
	usec_t grown = (p->last_launch - p->failing_since) / 8;
	usec_t pause = p->limits.login_retry;

	if (grown > ALONE_MAX)
		grown = ALONE_MAX;
	if (pause < grown)
		pause = grown;
	return p->last_launch + (pause > ALONE_MIN ? pause : ALONE_MIN);
}

/* Servers in this state that may still be handed to somebody. */
static unsigned usable(const struct pool *p, enum server_state state)
{
	unsigned n = 0;

	for (const struct pool_server *ps = p->servers[state]; ps != NULL;
	    ps = ps->next)
		n += pool_is_usable(ps);
	return n;
}

/* Servers that are, or will be, for whoever waits. */
static unsigned coming(const struct pool *p)
{
	return p->server_count[SERVER_LOGIN] + usable(p, SERVER_TESTED) +
	    usable(p, SERVER_IDLE);
}

usec_t pool_uncovered_since(const struct pool *p)
{
	const struct pool_client *pc = p->clients[CLIENT_WAITING];

	for (unsigned n = coming(p); n > 0 && pc != NULL; n--)
		pc = pc->next;
	usec_t since = pool_earlier(0, pc);

	if (!pool_is_welcoming(p))
		since = pool_earlier(since, p->clients[CLIENT_WELCOME]);
	return pool_earlier(since, first_dedicated(p));
}

/*
 * A client in CLIENT_WELCOME will want a server next: a cold pool grows for
 * all at once.
 */
unsigned pool_uncovered(const struct pool *p)
{
	const unsigned logins = p->server_count[SERVER_LOGIN];
	const unsigned strangers = pool_is_welcoming(p) ? 0 :
	    p->client_count[CLIENT_WELCOME];
	const unsigned waiting = p->client_count[CLIENT_WAITING] + strangers;
	const unsigned served = coming(p);
	/* the welcome comes from a new server, whatever others there are */
	const unsigned welcome = strangers > 0 && logins == 0;

	return waiting > served ? waiting - served : welcome;
}

/* Without a welcome the pool opens one connection past its size: its home does. */
static bool exceeds_for_welcome(const struct pool *p)
{
	return p->welcome == NULL && p->server_count[SERVER_LOGIN] == 0 &&
	    !p->is_part;
}

/* So many at once; those that go on failing, one by one. */
static unsigned logins_at_once(const struct pool *p)
{
	return p->failing ? 1 : (unsigned)p->limits.login_concurrency;
}

bool pool_could_launch(const struct pool *p, usec_t now)
{
	return pool_uncovered(p) > 0 && pool_may_retry(p, now) &&
	    p->server_count[SERVER_LOGIN] < logins_at_once(p);
}

unsigned pool_maximum(const struct pool *p, usec_t now)
{
	const unsigned size = (unsigned)p->limits.size;

	if (size == 0 || pool_held(p) < size)
		return size;
	if (exceeds_for_welcome(p))
		return 0;
	return pool_reserve_is_due(p, p->clients[CLIENT_WAITING], now) ||
	    pool_reserve_is_due(p, p->clients[CLIENT_DEDICATED_WAITING], now) ?
	    size + (unsigned)p->limits.reserve : size;
}

unsigned pool_wanted(const struct pool *p, usec_t now, bool *reserve)
{
	const struct pool_limits *l = &p->limits;
	const unsigned logins = p->server_count[SERVER_LOGIN];
	const unsigned at_once = logins_at_once(p);
	unsigned n = pool_uncovered(p);

	*reserve = false;
	if (n == 0 || logins >= at_once || !pool_may_retry(p, now))
		return 0;
	if (n > at_once - logins)
		n = at_once - logins;
	if (l->size <= 0)
		return n;
	const unsigned total = pool_held(p);

	if (total < (unsigned)l->size) {
		const unsigned room = (unsigned)l->size - total;
		return n < room ? n : room;
	}
	if (exceeds_for_welcome(p))
		return 1;
	*reserve = pool_reserve_is_due(p, p->clients[CLIENT_WAITING], now);
	return *reserve ? 1 : 0;
}

struct pool_client *pool_pick_dedicated(const struct pool *p, usec_t now)
{
	if (p->server_count[SERVER_DEDICATED_LOGIN] >= logins_at_once(p) ||
	    !pool_may_retry(p, now))
		return NULL;
	return first_dedicated(p);
}

bool pool_is_below_minimum(const struct pool *p)
{
	const struct pool_limits *l = &p->limits;
	const bool in_use = p->client_count[CLIENT_ACTIVE] > 0 ||
	    p->client_count[CLIENT_WAITING] > 0 ||
	    p->key.db->conf->user != NULL;

	/* of the parts, the first looks after that of all */
	return in_use && !p->is_part && l->min > 0 &&
	    (p->share.ledger == NULL ? pool_connected(p) : pool_held(p)) <
	    (unsigned)l->min &&
	    (l->size <= 0 || pool_held(p) < (unsigned)l->size) &&
	    p->server_count[SERVER_LOGIN] == 0;
}

unsigned pool_wanted_minimum(const struct pool *p, usec_t now)
{
	return pool_is_below_minimum(p) && pool_may_retry(p, now) &&
	    pool_may_vacate(p, now);
}

void pool_vacated(struct pool *p, usec_t now)
{
	p->vacated_at = now;
}

bool pool_may_vacate(const struct pool *p, usec_t now)
{
	return p->vacated_at == 0 || now - p->vacated_at >= VACANT;
}

bool pool_is_down(const struct pool *p)
{
	return p->failing &&
	    pool_total(p) == p->server_count[SERVER_LOGIN] +
	    p->server_count[SERVER_DEDICATED_LOGIN];
}

#define LONG_AGO (INT64_MIN / 4)	/* for any server_login_retry */

static void forget_failure(struct pool *p)
{
	mem_free(p->failure);
	p->failure = NULL;
}

static void forget_miss(struct pool *p)
{
	mem_free(p->miss);
	p->miss = NULL;
}

void pool_miss(struct pool *p, const char *what)
{
	forget_miss(p);
	p->miss = mem_strdup(what);
	p->missed = true;
}

void pool_fail(struct pool *p, const char *reason, const char *hint)
{
	forget_failure(p);
	if (!p->missed)
		forget_miss(p);
	p->missed = false;
	if (!p->failing)
		p->failing_since = time_now();
	p->failing = true;
	p->failure_hint = hint;
	p->failure = reason == NULL ? NULL : mem_strdup(reason);
}

void pool_worked(struct pool *p)
{
	forget_failure(p);
	forget_miss(p);
	p->missed = p->failing = false;
}

void pool_retry_now(struct pool *p)
{
	if (!p->failing)
		return;
	p->last_launch = LONG_AGO;
	wheel_wake(&p->wheel);
}

const char *pool_failure(const struct pool *p)
{
	return p->failure != NULL ? p->failure : "out of memory";
}

const char *pool_failure_detail(const struct pool *p)
{
	return p->miss;
}

const char *pool_failure_hint(const struct pool *p)
{
	return p->failure_hint != NULL ? p->failure_hint :
	    "Look at the server, and at host and port in [databases]; the log "
	    "says more. It is tried again after server_login_retry.";
}

static struct ledger *ledger_of(const struct pool *p, int kind)
{
	return limit_share_of(p, (enum limit_kind)kind)->ledger;
}

struct pool_slots pool_server_leave(struct pool_server *ps, unsigned to)
{
	struct pool_slots slots = { .of[0].of = NULL };

	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct ledger *const l = ledger_of(ps->pool, kind);

		if (l != NULL)
			slots.of[kind] = ledger_send(l, LEDGER_SERVERS, to);
	}
	ps->trip = TRIP_MAIL;
	pool_server_set(ps, SERVER_GONE);
	ps->pool = NULL;
	return slots;
}

/* What was not shared where it comes from may be so here. */
static void receive(struct ledger *l, struct ledger_trip *sent)
{
	if (l == NULL)
		ledger_lose(sent);
	else if (sent->of != NULL)
		ledger_receive(l, sent);
	else
		ledger_add(l, LEDGER_SERVERS);
}

void pool_server_join(struct pool_server *ps, struct pool *p,
    struct pool_slots *slots)
{
	for (int kind = 0; kind < LIMIT_SHARES; kind++)
		receive(ledger_of(p, kind), &slots->of[kind]);
	ps->pool = p;
	pool_server_set(ps, SERVER_IDLE);
	ps->trip = TRIP_NONE;
}

void pool_slots_lose(struct pool_slots *slots)
{
	for (int kind = 0; kind < LIMIT_SHARES; kind++)
		ledger_lose(&slots->of[kind]);
}

/*
 * The last idle server that is (not) lent: lent servers rest in front, mostly.
 */
static struct pool_server *last_idle(const struct pool *p, bool lent)
{
	struct pool_server *head = p->servers[SERVER_IDLE], *ps = head;

	while (ps != NULL) {
		ps = ps->prev;
		if (ps->lent == lent && pool_is_usable(ps))
			return ps;
		if (ps == head)
			return NULL;
	}
	return NULL;
}

struct pool_server *clean_pick(const struct pool *p)
{
	return last_idle(p, false);
}

struct pool_server *clean_pick_lent(const struct pool *p)
{
	return last_idle(p, true);
}

struct pool_client *clean_pick_other(const struct pool *p)
{
	struct pool_client *pc = p->clients[CLIENT_WAITING];

	while (pc != NULL && pc->lookup)
		pc = pc->next;
	return pc;
}

static bool has_clean(const struct pool *p, enum server_state state)
{
	const struct pool_server *ps = p->servers[state];

	while (ps != NULL && (ps->lent || !pool_is_usable(ps)))
		ps = ps->next;
	return ps != NULL;
}

bool clean_is_wanted(const struct pool *p, usec_t now)
{
	return p->lookups > 0 && p->server_count[SERVER_LOGIN] == 0 &&
	    pool_may_retry(p, now) && !has_clean(p, SERVER_IDLE) &&
	    !has_clean(p, SERVER_ACTIVE) && !has_clean(p, SERVER_TESTED);
}
