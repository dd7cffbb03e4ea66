/* broker_chore.c - a server that does not do what we ask of it.
 *
 * If it does not answer, its host may have lost power, or a firewall the
 * connection: nobody says so, and the kernel tries for a quarter of an hour. If
 * a query of our own fails, nobody knows what state the session is in.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>

#include "base/log.h"
#include "broker/broker.h"
#include "pool/hosts.h"
#include "pool/pool.h"
#include "pool/pool_failure.h"
#include "session/server.h"
#include "session/sessions.h"

static const enum close_reason late[] = {
	[CHORE_RESET] = CLOSE_RESET_QUERY_TIMEOUT,
	[CHORE_CHECK] = CLOSE_TEST_QUERY_TIMEOUT,
	[CHORE_PARAMS] = CLOSE_SERVER_PARAMETERS_TIMEOUT,
	[CHORE_ROLLBACK] = CLOSE_ROLLBACK_TIMEOUT,
	[CHORE_CLEAN] = CLOSE_CLEANING_TIMEOUT,
	[CHORE_CONNECT] = CLOSE_CLEANING_TIMEOUT,
	[CHORE_PROBE] = CLOSE_PROBE_TIMEOUT,
	[CHORE_LISTEN] = CLOSE_LISTENING_TIMEOUT,
	[CHORE_BRING] = CLOSE_LISTENING_TIMEOUT,
	[CHORE_BASE] = CLOSE_PROBE_TIMEOUT,
};

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
			server_close(s, late[CHORE_CHECK]);
	}
}

void broker_chore_late(struct server *s, usec_t since)
{
	struct pool *const p = s->ps.pool;
	const struct net_addr addr = s->addr;
	const bool check = s->chore == CHORE_CHECK;

	/* of a list the next is to be tried first */
	if (s->host.kind != HOST_NONE)
		hosts_failed(p, s->host.item, false, time_now());
	server_fail(s, late[s->chore]);
	if (!check)
		return;
	/* else each client would have to wait for one after the other */
	close_suspects(p, SERVER_USED, &addr, since);
	close_suspects(p, SERVER_IDLE, &addr, since);
}

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

static void note_failed(struct server *s, const char *text)
{
	switch (s->chore) {
	case CHORE_CHECK:
		/* the next server is checked before its first client has it */
		s->ps.pool->check_failed = true;
		host_failed(s, !s->ps.lent, text, "Look at the server, and at "
		    "server_check_query. It is tried again after "
		    "server_login_retry.");
		return;
	case CHORE_BASE:
		/* it may be lent: its base is asked for before it is used */
		host_failed(s, true, text, "The user of the pool must be allowed to "
		    "read its settings, as session_state = keep does. It is "
		    "tried again after server_login_retry.");
		return;
	default:
		return;
	}
}

void broker_chore_failed(struct server *s, enum close_reason why,
    const char *message)
{
	char text[256];

	snprintf(text, sizeof text, "%s: %s", close_cause(why).text, message);
	log_at(LEVEL_WARNING, &s->who, "%s", text);
	note_failed(s, text);
	server_close(s, why);
}
