/* broker_login.c - clients that have logged in; servers that come and go.
 *
 * A pool's latest server tells what its clients are welcomed with; one that
 * fails to log in may end the hope of all that wait.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "broker/canceler.h"
#include "notify/listener.h"
#include "pool/hosts.h"
#include "pool/pool.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "state/welcome.h"
#include "upstream/server_attempt.h"

#define STATUS_MAX (1 << 20)

static const struct iovec nothing = { NULL, 0 };

static void send_welcome(struct client *c, const struct iovec *first)
{
	struct welcome *w = c->pc.pool->welcome;

	c->told = c->pc.pool->told;
	welcome_send(c, &(struct welcome_parts){
	    .first = *first,
	    .tracked = w->params,
	    .others = { w->bytes, w->len },
	});
}

void broker_welcome(struct client *c, const struct iovec *first)
{
	if (pool_is_welcoming(c->pc.pool))
		send_welcome(c, first);
	else if (client_send_login(c, first) < 0)
		return;
	else if (c->ss->shutdown == SHUTDOWN_WAIT_FOR_SERVERS)
		client_fail(c, CLOSE_SERVER_SHUTTING_DOWN);
	else
		broker_queue(c, c->replication != REPLICATION_NONE ?
		    CLIENT_DEDICATED_WAITING : CLIENT_WELCOME);
	if (client_is_open(c) && c->welcomed)
		broker_idle_begins(c);
}

void broker_tell_news(struct client *c)
{
	const struct pool *const p = c->pc.pool;
	struct writer w;

	if (c->told != 0 && p->welcome != NULL) {
		writer_init(&w, STATUS_MAX);
		welcome_write_news(p->welcome, &w);
		/* if c is gone, that is seen when c is read, or written to */
		if (!w.failed && w.len > 0)
			(void)stream_write_bytes(&c->stream, w.at, w.len);
		writer_fini(&w);
	}
	c->told = p->told;
}

void broker_welcome_all(struct pool *p)
{
	while (pool_is_welcoming(p) && p->clients[CLIENT_WELCOME] != NULL) {
		struct client *c = client_of(p->clients[CLIENT_WELCOME]);

		if (stream_is_suspended(&c->stream))
			return;		/* c is welcomed when all go on */
		pool_client_set(&c->pc, CLIENT_ACTIVE);
		send_welcome(c, &nothing);
		if (!client_is_open(c))
			continue;
		broker_idle_begins(c);
		c->role->go_on(c);
	}
}

void broker_server_ready(struct server *s)
{
	struct pool *p = s->ps.pool;

	s->ss->tally.server_logins[TALLY_OK][0]++;
	pool_worked(p);
	hosts_worked(p, s->host.item);
	broker_host_fits(s);
	broker_touch(s->ss, p);
	if (s->ps.dedicated) {
		struct client *const c = client_of(s->ps.client);

		c->role->go_on(c);
		return;
	}
	broker_welcome_all(p);
	if (s->ps.state == SERVER_LISTENING)
		listener_ready(s);
	else
		broker_settle(s);
}

/* --- servers that do not come, or go --- */

/* auth_query could not be asked: what is wrong is no business of strangers. */
static void fail_lookup(struct client *c, enum close_reason reason)
{
	struct close_cause why = close_cause(reason);

	why.hint = "The pooler's log says what is wrong with auth_query, or with "
	    "auth_user and auth_dbname.";
	client_fail_cause(c, why);
}

void broker_refuse(struct client *c, struct close_cause why)
{
	/* a stranger would read which databases and users there are */
	if (client_logs_in(c))
		fail_lookup(c, CLOSE_SERVER_LOGIN_FAILED);
	else
		client_fail_cause(c, why);
}

void broker_fail_all(struct pool *p, enum client_state state,
    struct close_cause why)
{
	while (p->clients[state] != NULL)
		broker_refuse(client_of(p->clients[state]), why);
}

/* The client of s waits on if s was told nothing of it yet; else both go. */
static void dedicated_failed(struct server *s, const struct close_cause *why)
{
	struct pool *p = s->ps.pool;

	if (server_is_introduced(s) && why->reason != CLOSE_HOST_DOES_NOT_FIT)
		return;
	if (!hosts_left(p, s->ss->catalog, time_now()))
		pool_fail(p, s->failure->text, why->hint);
	pool_unlink(s->ps.client);
}

/*
 * The login, or what else a new connection is for, was in vain. A canceler is
 * one that has its target still, or has got as far as to send something.
 */
static void on_failure(struct server *s, const struct close_cause *why)
{
	struct pool *p = s->ps.pool;

	if (s->phase == SERVER_PHASE_CANCEL || s->target != NULL ||
	    p->peer_id != 0) {
		canceler_failed(s);
		return;
	}
	s->ss->tally.server_logins[TALLY_FAILED][0]++;
	/* where another would be better only, what there is may stay */
	if (why->reason == CLOSE_HOST_DOES_NOT_FIT &&
	    p->limits.attrs != ATTRS_PREFER_STANDBY)
		broker_retire_host(p, s);
	if (s->ps.dedicated) {
		dedicated_failed(s, why);
		return;
	}
	/* of several hosts the next is tried at once */
	if (hosts_left(p, s->ss->catalog, time_now()) && !err_is_nomem(s->failure))
		return;
	const bool again = p->failing;

	pool_fail(p, s->failure->text, why->hint);
	p->passing = s->attempt->passing;
	if (again)
		broker_retry_failed(s->ss, p, p->failing_since);
	/* a refusal that concerns everybody: nobody need wait for the next */
	if (!s->attempt->refused || (pool_connected(p) > 0 && p->welcome != NULL)) {
		broker_welcome_all(p);
		return;
	}
	struct close_cause told = close_cause_err(why->reason, s->failure);

	told.hint = why->hint;
	broker_fail_all(p, CLIENT_WAITING, told);
	broker_fail_all(p, CLIENT_WELCOME, told);
}

/* The login of s is long over: a failure is its client's, not the pool's. */
static bool is_past_login(const struct server *s)
{
	return s->phase == SERVER_PHASE_POOLED ||
	    s->phase == SERVER_PHASE_LOOKUP;
}

/* Has the server, or its machine, ended what was in use? */
static bool is_lost(enum close_reason why)
{
	return why == CLOSE_SERVER_CRASHED ||
	    why == CLOSE_SERVER_CONNECTION_CLOSED ||
	    why == CLOSE_TEST_QUERY_TIMEOUT;
}

static void fail_client(struct client *c, const struct server *s,
    struct close_cause why)
{
	const bool failed = s->failure != NULL && is_past_login(s);

	/* without a failure, the code of the reason is not for the client */
	why.code = failed ? s->failure->code : NULL;
	if (failed || !client_logs_in(c))
		client_fail_cause(c, why);
	else	/* what its auth_query met with concerns the operator only */
		fail_lookup(c, CLOSE_BOUNCER_CONFIG_ERROR);
}

void broker_server_gone(struct server *s, struct close_cause why)
{
	if (s->failure != NULL && !is_past_login(s))
		on_failure(s, &why);
	if (is_past_login(s) && is_lost(why.reason) && !s->ps.close_needed &&
	    pool_connected(s->ps.pool) == 0)
		pool_doubt_welcome(s->ps.pool);
	struct pool_client *pc = s->ps.client;
	struct server *const freed = canceler_gone(s);

	if (freed != NULL)
		broker_free(freed);
	canceler_target_gone(s);
	listener_gone(s);
	if (pc != NULL) {
		struct client *c = client_of(pc);

		broker_part(c);
		c->cut_short = rest_passes(&s->rest);
		if (s->fatal_passed)
			client_close_cause(c, why);
		else
			fail_client(c, s, why);
	}
	broker_touch(s->ss, s->ps.pool);
	broker_touch_next(s->ss, s->ps.pool);
}
