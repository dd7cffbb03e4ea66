/* due.c - when a pool must be looked at again.
 * SPDX-License-Identifier: ISC */
#include "pool/due.h"

#include "base/timeouts.h"
#include "pool/catalog.h"
#include "pool/limit.h"

static usec_t due_earlier(usec_t a, usec_t b)
{
	return a < b ? a : b;
}

static usec_t later(usec_t a, usec_t b)
{
	return a > b ? a : b;
}

usec_t due_after(usec_t since, usec_t limit)
{
	return limit > 0 ? since + limit + 1 : WHEEL_NEVER;
}

bool due_has_clients(const struct pool *p)
{
	for (int i = 0; i < CLIENT_STATES; i++) {
		if (p->client_count[i] > 0)
			return true;
	}
	return false;
}

bool due_is_used(const struct pool *p)
{
	/* a pool that is down may try to log in without clients */
	return due_has_clients(p) || (pool_total(p) > 0 && !pool_is_down(p));
}

/* See pool_lifetime_over(). */
static usec_t lifetime_end(const struct pool *p, usec_t born)
{
	const usec_t end = born + p->limits.lifetime;
	const int size = p->lease > 0 ? (int)p->lease : p->limits.size;

	return size <= 0 ? end : later(end,
	    p->last_lifetime_close + p->limits.lifetime / size);
}

bool due_is_above_minimum(const struct pool *p)
{
	return p->limits.min <= 0 || (p->share.ledger == NULL ?
	    pool_connected(p) : pool_held(p)) > (unsigned)p->limits.min;
}

/* When must a server in this state, last used then, be looked at? */
static usec_t idle_end(const struct pool *p, enum server_state state,
    usec_t used)
{
	const struct pool_limits *const l = &p->limits;
	/* idle_timeout closes servers only above the minimum */
	const usec_t end = due_is_above_minimum(p) ?
	    due_after(used, l->idle_timeout) : WHEEL_NEVER;

	return state == SERVER_IDLE && l->check ?
	    due_earlier(end, used + l->check_delay + 1) : end;
}

static usec_t list_end(const struct pool *p, enum server_state state)
{
	usec_t end = WHEEL_NEVER;

	for (const struct pool_server *ps = p->servers[state]; ps != NULL;
	    ps = ps->next) {
		if (evict_is_candidate(state) && ps->close_needed)
			return 0;
		if (evict_is_candidate(state))
			end = due_earlier(end, idle_end(p, state, ps->used));
		end = due_earlier(end, lifetime_end(p, ps->born));
	}
	return end;
}

usec_t due_idle_servers(struct pool *p, usec_t now)
{
	usec_t end = WHEEL_NEVER;

	for (int state = 0; state < SERVER_LISTENING; state++)
		end = due_earlier(end, list_end(p, (enum server_state)state));
	/*
	 * nor of servers that become idle later; a new server starts this again
	 */
	p->idle_due_at = due_earlier(end, idle_end(p, SERVER_IDLE, now));
	p->idle_seen_at = now;
	return end;
}

bool due_has_waiters(const struct pool *p)
{
	return p->client_count[CLIENT_WAITING] > 0 ||
	    p->client_count[CLIENT_WELCOME] > 0 ||
	    p->client_count[CLIENT_DEDICATED_WAITING] > 0 ||
	    p->client_count[CLIENT_CANCEL_WAITING] > 0 || p->hearing.wanted;
}

/*
 * The pool has too few servers, and none could be opened. When is the next try?
 */
static usec_t minimum_due(const struct pool *p, usec_t now)
{
	if (!pool_is_below_minimum(p))
		return WHEEL_NEVER;
	return p->failing ? p->last_launch + p->limits.login_retry :
	    now + DUE_AGAIN;
}

usec_t due_next(const struct pool *p, const struct due_times *t)
{
	usec_t due = minimum_due(p, t->now);

	if (p->server_count[SERVER_ACTIVE] > 0 || due_has_waiters(p))
		return 0;
	due = due_earlier(due, due_earlier(t->idle, t->retry));
	if (p->hearing.idle_since != 0)
		due = due_earlier(due, due_after(p->hearing.idle_since,
		    p->limits.idle_timeout));
	if (p->unused_since != 0)
		due = due_earlier(due, due_after(p->unused_since, t->unused));
	return due <= t->now ? t->now + DUE_AGAIN : due;
}
