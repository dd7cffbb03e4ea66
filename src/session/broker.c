/* broker.c - joins clients and servers, as the pools decide.
 * SPDX-License-Identifier: ISC */
#include "session/broker.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/probe.h"
#include "pool/clean.h"
#include "pool/drain.h"
#include "pool/latencies.h"
#include "pool/limit.h"
#include "pool/pool_failure.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/writer.h"
#include "session/broker_parts.h"
#include "session/client.h"
#include "session/server.h"
#include "session/server_launch.h"
#include "session/sessions.h"

void broker_touch(struct sessions *ss, struct pool *p)
{
	catalog_touch_pool(ss->catalog, p);
}

/* --- joining --- */

static inline bool is_same(const struct client *c,
    const struct server *s)
{
	return c->params == s->params && c->baggage == s->keep.has;
}

/* n queries, each with its NUL. May close s. */
static void send_sets(struct server *s, const char *sql, int n)
{
	while (n-- > 0 && server_send_query(s, sql, CHORE_PARAMS) == 0)
		sql += strlen(sql) + 1;
}

/* With what is kept go the values that the server does not report, too. */
static struct params_origin origin_of(const struct server *s)
{
	return (struct params_origin){ .set = s->origin.set,
		.silent = keep_is_on(s->ps.pool) ? 0 : s->origin.silent };
}

int broker_adopt_params(struct client *c, const struct server *s)
{
	const bool begins = c->relay.start == c->params;

	if (params_adopt(&c->params, s->params, origin_of(s).silent) < 0)
		return -1;
	if (begins && c->relay.start != NULL) {
		params_unref(&c->relay.start);
		c->relay.start = params_ref(c->params);
	}
	return 0;
}

/* All that makes s as c wants it. Returns how many queries; -1: no memory. */
static int write_sets(struct client *c, struct server *s, struct writer *w)
{
	const struct params_origin origin = origin_of(s);
	struct baggage *want = keep_wanted(c, s);
	int n = params_write_sets(c->params, s->params, &origin, w);

	if (keep_is_on(s->ps.pool))
		n += keep_write_sql(s, c, want, w);
	const bool failed = w->failed ||
	    (want == NULL && keep_is_on(s->ps.pool)) ||
	    (n > 0 && params_expect(&s->params, c->params, &origin) < 0);

	baggage_put(&c->baggage, want);
	baggage_put(&s->keep.has, want);
	baggage_unref(&want);
	return failed ? -1 : n;
}

bool broker_same_params(struct client *c, struct server *s)
{
	struct writer w;

	if (is_same(c, s))
		return true;
	writer_init(&w, BAGGAGE_BYTES);
	const int n = write_sets(c, s, &w);

	if (n == 0) {
		/* c and s share one set from now on */
		(void)broker_adopt_params(c, s);
		writer_fini(&w);
		return true;
	}
	stream_pause(&c->stream);
	if (n < 0)
		server_fail(s, CLOSE_NO_MEMORY_FOR_PARAMETERS);
	else
		send_sets(s, (const char *)w.at, n);
	writer_fini(&w);
	return false;
}

/* Link both. Returns true when the client may go on at once. */
static bool join(struct client *c, struct server *s)
{
	struct counters *n = &c->pc.pool->counted.now;
	usec_t waited = 0;

	if (!client_logs_in(c))
		timeout_stop(&c->timer);
	if (c->pc.state == CLIENT_WAITING) {
		c->waited = waited = time_now() - c->pc.wait_since;
		n->wait_time += (uint64_t)c->waited;
		if (c->waited > 0)
			latencies_note(c->pc.pool, LATENCY_WAIT, c->waited);
		pool_client_set(&c->pc, client_logs_in(c) ?
		    CLIENT_LOGIN : CLIENT_ACTIVE);
	}
	latencies_note_recent(c->pc.pool, RECENT_WAIT, waited);
	if (stream_is_suspended(&s->stream))	/* suspended, and to log in */
		stream_unsuspend(&s->stream);
	pool_link(&c->pc, &s->ps);
	PROBE(server__acquire, c->id, s->id, c->db->name, c->waited);
	if (log_wants(LEVEL_NOISE))
		log_at(LEVEL_NOISE, &c->who, "linked to S-%p", (void *)s);
	if (!client_logs_in(c))
		return is_same(c, s) || broker_same_params(c, s);
	c->role->go_on(c);
	return false;
}

/*
 * Fail c, and say true, if its pool cannot serve it: another server is tried
 * when its time has come.
 */
static bool fail_if_down(struct client *c)
{
	struct pool *p = c->pc.pool;
	char text[sizeof((struct err *)0)->text + 128];

	if (c->ss->shutdown == SHUTDOWN_WAIT_FOR_SERVERS) {
		client_fail(c, CLOSE_SERVER_SHUTTING_DOWN);
		return true;
	}
	if (!pool_is_down(p) || p->limits.attrs != ATTRS_ANY ||
	    pool_is_paused(p, c->ss->catalog) ||
	    drain_stops(c->ss->catalog, p, time_now()) ||
	    c->pc.state == CLIENT_WELCOME ||
	    (c->replication != REPLICATION_NONE && !client_logs_in(c)))
		return false;
	snprintf(text, sizeof text, "server login has been failing, "
	    "cached error: %s (server_login_retry)", pool_failure(p));
	struct sessions *ss = c->ss;
	struct pool_server *victim;
	const usec_t now = time_now();
	const bool retry = now - p->last_launch >= p->limits.login_retry &&
	    p->server_count[SERVER_LOGIN] == 0 &&
	    limit_check(p, now, &victim) == LIMIT_FREE;

	broker_refuse(c, (struct close_cause){
	    .reason = CLOSE_CACHED_ERROR, .text = text });
	if (retry)
		server_launch(ss, p);
	return true;
}

void broker_queue(struct client *c, enum client_state state)
{
	c->pc.wait_since = time_now();
	c->notified = false;
	if (!client_logs_in(c))
		timeout_stop(&c->timer);
	pool_client_set(&c->pc, state);
	stream_pause(&c->stream);
	if (log_wants(LEVEL_DEBUG))
		log_at(LEVEL_DEBUG, &c->who, "%s -> %s",
		    client_logs_in(c) ? "login" : "active",
		    state == CLIENT_WELCOME ? "welcome" : "waiting");
	broker_touch(c->ss, c->pc.pool);
}

bool broker_acquire(struct client *c)
{
	const bool own = c->replication != REPLICATION_NONE;
	const bool stopped = c->ss->suspended ||
	    pool_is_paused(c->pc.pool, c->ss->catalog) ||
	    c->pc.pool->lookups > 0;
	struct pool_server *ps = own || stopped ? NULL :
	    pool_pick_server(c->pc.pool);

	if (ps != NULL)
		return join(c, server_of(ps));
	if (!fail_if_down(c))
		broker_queue(c, own ? CLIENT_DEDICATED_WAITING :
		    CLIENT_WAITING);
	return false;
}

void broker_look_up(struct client *c)
{
	struct pool *p = c->pc.pool;
	struct pool_server *ps = c->ss->still ||
	    pool_is_paused(p, c->ss->catalog) ? NULL : clean_pick(p);

	if (ps != NULL)
		(void)join(c, server_of(ps));
	else if (!fail_if_down(c))
		broker_queue(c, CLIENT_WAITING);
}

/* Suspended, clients stand still; but a login has to come to an end. */
static struct pool_client *pick_login(const struct pool *p)
{
	struct pool_client *pc;

	DL_FOREACH(p->clients[CLIENT_WAITING], pc) {
		if (client_logs_in(client_of(pc)))
			return pc;
	}
	return NULL;
}

/*
 * The client that is next, and the server it gets. An auth_query gets one that
 * no client has had: while such a one is on its way, clients behind it go first;
 * else nobody does, for the next server to be released is closed in its favour.
 */
static bool pick_pair(struct sessions *ss, struct pool *p,
    struct pool_client **pc, struct pool_server **ps)
{
	*pc = ss->suspended ? pick_login(p) : pool_pick_client(p);
	*ps = pool_pick_server(p);
	if (*pc == NULL || *ps == NULL || !(*pc)->lookup)
		return *pc != NULL && *ps != NULL;
	struct pool_server *clean = clean_pick(p);

	if (clean != NULL) {
		*ps = clean;
		return true;
	}
	if (ss->suspended || (clean_is_wanted(p, time_now()) &&
	    !drain_stops(ss->catalog, p, time_now())))
		return false;
	*pc = clean_pick_other(p);
	return *pc != NULL;
}

void broker_serve(struct sessions *ss, struct pool *p)
{
	struct pool_client *pc;
	struct pool_server *ps;

	if (p->serving)
		return;
	p->serving = true;
	while (!ss->still && !pool_is_paused(p, ss->catalog)) {
		if (!pick_pair(ss, p, &pc, &ps))
			break;
		if (join(client_of(pc), server_of(ps)))
			client_of(pc)->role->go_on(client_of(pc));
	}
	p->serving = false;
}

void broker_idle_begins(struct client *c)
{
	if (c->ss->watch_idle && client_is_open(c) && !client_logs_in(c))
		timeout_start(&c->ss->idle_list, &c->timer, time_now());
}

void broker_adopt(struct client *c)
{
	if (c->pc.state != CLIENT_ACTIVE)
		return;		/* c keeps its place */
	if (c->pc.server == NULL)
		broker_idle_begins(c);
	c->role->go_on(c);
}

void broker_leave_queue(struct client *c)
{
	const usec_t waited = time_now() - c->pc.wait_since;

	c->pc.pool->counted.now.wait_time += (uint64_t)waited;
	latencies_note_unassigned(c->pc.pool, waited);
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	broker_idle_begins(c);
}
