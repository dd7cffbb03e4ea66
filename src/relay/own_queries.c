/* own_queries.c - what follows a query that the pooler itself sends to a
 * server.
 *
 * If a server does not answer, its host may have lost power, or a firewall the
 * connection: nobody says so, and the kernel tries for a quarter of an hour. If
 * a query of our own fails, nobody knows what state the session is in.
 * SPDX-License-Identifier: ISC */
#include "relay/own_queries.h"

#include <stdio.h>

#include "base/log.h"
#include "broker/broker.h"
#include "notify/listener.h"
#include "pool/hosts.h"
#include "pool/pool.h"
#include "relay/relay.h"
#include "relay/relay_flight.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

/* --- done, with the client that waits for it --- */

/* The client has its values in s: its requests go on. */
static void sets_done(struct client *c, struct server *s)
{
	if (relay_sets_done(c, s))
		relay_resume(c);
}

/* max_pinned: what c has made can neither stay nor go along. */
static void refuse_pin(struct client *c, const struct server *s)
{
	struct close_cause why = close_cause(CLOSE_TOO_MANY_PINNED);
	char hint[280], text[KEEP_PINS_MAX];

	keep_name_pins(s->keep.pins, text);
	snprintf(hint, sizeof hint, "This session would have pinned a server "
	    "(%s). Remove this state in the same transaction, raise "
	    "max_pinned (of the user, the database, or all), or use a pool "
	    "with pool_mode = session.", text);
	log_at(LEVEL_WARNING, &c->who, "would pin a server (%s): max_pinned is "
	    "%d", text, c->pc.pool->limits.max_pinned);
	why.hint = hint;
	client_fail_cause(c, why);
}

/* What c has left in s is known: some of it may be for s alone. */
static void probe_done(struct client *c, struct server *s)
{
	if (!keep_answered(s, c))
		return;
	server_set_own_query(s, OWN_QUERY_NONE);
	listener_note(c, s);
	if (!client_is_open(c))
		return;
	if (s->keep.refused)
		refuse_pin(c, s);
	else
		relay_conclude(c, s);
}

/* What s had before is known: what c is to have takes its place. */
static void base_done(struct client *c, struct server *s)
{
	if (!keep_based(s))
		return;
	server_set_own_query(s, OWN_QUERY_NONE);
	if (broker_same_params(c, s))
		sets_done(c, s);
}

static void listen_done(struct client *c, struct server *s)
{
	if (listener_moved(c, s))
		relay_conclude(c, s);
}

static void bring_done(struct client *c, struct server *s)
{
	if (listener_brought(c, s))
		sets_done(c, s);
}

/* --- done, without a client: is more asked of s now? --- */

static bool reset_goes_on(struct server *s)
{
	/* it may have been DISCARD ALL: nobody knows what was there */
	if (s->ps.pool->limits.state != STATE_FORGET)
		s->ps.stained = true;
	return false;
}

static bool check_goes_on(struct server *s)
{
	s->ps.pool->check_failed = false;
	return false;
}

static bool probe_goes_on(struct server *s)
{
	return !keep_answered(s, NULL);
}

static bool base_goes_on(struct server *s)
{
	return !keep_based(s);
}

/* --- failed --- */

/*
 * What a query says of s may be so of its host. If one fails on a server that was
 * new (no client's request has reached it), the next attempt waits for
 * server_login_retry.
 */
static void host_failed(struct server *s, bool new, const char *text,
    const char *hint)
{
	struct pool *const p = s->ps.pool;

	if (s->host.kind != HOST_NONE)
		hosts_failed(p, s->host.item, false, time_now());
	if (new && !hosts_left(p, s->ss->catalog, time_now()))
		pool_fail(p, text, hint);
}

static void check_failed(struct server *s, const char *text)
{
	/* the next server is checked before its first client has it */
	s->ps.pool->check_failed = true;
	host_failed(s, !s->ps.lent, text, "Look at the server, and at "
	    "server_check_query. It is tried again after "
	    "server_login_retry.");
}

static void base_failed(struct server *s, const char *text)
{
	/* it may be lent: its base is asked for before it is used */
	host_failed(s, true, text, "The user of the pool must be allowed to "
	    "read its settings, as session_state = keep does. It is "
	    "tried again after server_login_retry.");
}

/* --- the table --- */

static const struct own_query_row rows[OWN_QUERIES] = {
	[OWN_QUERY_NONE] = { .done = sets_done },
	[OWN_QUERY_RESET] = { .done = sets_done, .goes_on = reset_goes_on,
		.failure = CLOSE_RESET_QUERY_FAILED,
		.late = CLOSE_RESET_QUERY_TIMEOUT },
	[OWN_QUERY_CHECK] = { .done = sets_done, .goes_on = check_goes_on,
		.failed = check_failed,
		.failure = CLOSE_TEST_QUERY_FAILED,
		.late = CLOSE_TEST_QUERY_TIMEOUT },
	[OWN_QUERY_PARAMS] = { .done = sets_done, .in_transaction = true,
		.error = OWN_ERROR_REFUSES,
		.failure = CLOSE_INVALID_SERVER_PARAMETER,
		.late = CLOSE_SERVER_PARAMETERS_TIMEOUT },
	[OWN_QUERY_ROLLBACK] = { .done = sets_done,
		.failure = CLOSE_ROLLBACK_FAILED,
		.late = CLOSE_ROLLBACK_TIMEOUT },
	[OWN_QUERY_CLEAN] = { .done = sets_done, .row = broker_clean_row,
		.goes_on = broker_clean_goes_on,
		.failure = CLOSE_CLEANING_FAILED,
		.late = CLOSE_CLEANING_TIMEOUT },
	[OWN_QUERY_CONNECT] = { .done = sets_done,
		.goes_on = broker_clean_goes_on,
		.failure = CLOSE_CLEANING_FAILED,
		.late = CLOSE_CLEANING_TIMEOUT },
	[OWN_QUERY_PROBE] = { .done = probe_done, .row = keep_take_row,
		.goes_on = probe_goes_on, .error = OWN_ERROR_REPEATS,
		.failure = CLOSE_PROBE_FAILED,
		.late = CLOSE_PROBE_TIMEOUT },
	[OWN_QUERY_LISTEN] = { .done = listen_done,
		.failure = CLOSE_LISTENING_FAILED,
		.late = CLOSE_LISTENING_TIMEOUT },
	[OWN_QUERY_BRING] = { .done = bring_done, .row = keep_take_row,
		.in_transaction = true,
		.failure = CLOSE_LISTENING_FAILED,
		.late = CLOSE_LISTENING_TIMEOUT },
	[OWN_QUERY_BASE] = { .done = base_done, .row = keep_take_row,
		.goes_on = base_goes_on, .failed = base_failed,
		.error = OWN_ERROR_REPEATS,
		.failure = CLOSE_PROBE_FAILED,
		.late = CLOSE_PROBE_TIMEOUT },
};

const struct own_query_row *own_query_row(const struct server *s)
{
	return &rows[s->own_query];
}

void own_query_done(struct server *s)
{
	const struct own_query_row *const row = own_query_row(s);
	struct client *const c = s->ps.client == NULL ? NULL :
	    client_of(s->ps.client);
	const char status = s->track.status;

	if (status != 'I' && !(row->in_transaction && status == 'T'))
		own_query_failed(s, "it has left a transaction open");
	else if (c != NULL)
		row->done(c, s);
	else if (s->ps.state == SERVER_LISTENING)
		listener_answered(s);
	else if (row->goes_on == NULL || !row->goes_on(s))
		broker_free(s);
}

void own_query_failed(struct server *s, const char *message)
{
	const struct own_query_row *const row = own_query_row(s);
	char text[256];

	snprintf(text, sizeof text, "%s: %s", close_cause(row->failure).text,
	    message);
	log_at(LEVEL_WARNING, &s->who, "%s", text);
	if (row->failed != NULL)
		row->failed(s, text);
	server_close(s, row->failure);
}

/* Is s as likely to be dead as a server at addr that is silent since then? */
static bool is_suspect(const struct server *s, const struct net_addr *addr,
    usec_t since)
{
	return s->ps.used <= since && net_equal(&s->addr, addr);
}

/* Servers at addr that have said nothing since then, either. */
static void close_suspects(struct pool *p, enum server_state state,
    const struct net_addr *addr, usec_t since)
{
	struct pool_server *ps = p->servers[state], *next;

	for (; ps != NULL && ps->state == state; ps = next) {
		struct server *const s = server_of(ps);

		next = ps->next;
		if (is_suspect(s, addr, since))
			server_close(s, CLOSE_TEST_QUERY_TIMEOUT);
	}
}

void own_query_late(struct server *s, usec_t since)
{
	struct pool *const p = s->ps.pool;
	const struct net_addr addr = s->addr;
	const bool check = s->own_query == OWN_QUERY_CHECK;

	/* of a list the next is to be tried first */
	if (s->host.kind != HOST_NONE)
		hosts_failed(p, s->host.item, false, time_now());
	server_fail(s, own_query_row(s)->late);
	if (!check)
		return;
	/* else each client would have to wait for one after the other */
	close_suspects(p, SERVER_USED, &addr, since);
	close_suspects(p, SERVER_IDLE, &addr, since);
}
