/* broker.c - joins and parts clients and servers, as the pools decide.
 * SPDX-License-Identifier: ISC */
#include "session/broker.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "pool/clean.h"
#include "pool/drain.h"
#include "pool/latencies.h"
#include "pool/limit.h"
#include "pool/pool_failure.h"
#include "proto/params.h"
#include "proto/writer.h"
#include "session/broker_parts.h"
#include "session/canceler.h"
#include "session/client.h"
#include "session/server.h"
#include "session/server_launch.h"
#include "session/sessions.h"

void broker_touch(struct sessions *ss, struct pool *p)
{
	catalog_touch_pool(ss->catalog, p);
}

/* --- joining --- */

/* n queries, each with its NUL. May close s. */
static void send_sets(struct server *s, const char *sql, int n)
{
	while (n-- > 0 && server_send_query(s, sql, CHORE_PARAMS) == 0)
		sql += strlen(sql) + 1;
}

int broker_adopt_params(struct client *c, const struct server *s)
{
	const bool begins = c->relay.start == c->params;

	if (params_adopt(&c->params, s->params, s->silent) < 0)
		return -1;
	if (begins && c->relay.start != NULL) {
		params_unref(&c->relay.start);
		c->relay.start = params_ref(c->params);
	}
	return 0;
}

bool broker_same_params(struct client *c, struct server *s)
{
	struct writer w;

	if (c->params == s->params)
		return true;
	writer_init(&w, 1 << 20);
	const int n = params_write_sets(c->params, s->params,
	    s->silent, &w);

	if (n == 0 && !w.failed) {
		/* they are one set from now on */
		(void)broker_adopt_params(c, s);
		writer_fini(&w);
		return true;
	}
	stream_pause(&c->stream);
	if (w.failed || params_expect(&s->params, c->params,
	    s->silent) < 0)
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

	if (!client_logs_in(c))
		timeout_stop(&c->timer);
	if (c->pc.state == CLIENT_WAITING) {
		c->waited = time_now() - c->pc.wait_since;
		n->wait_time += (uint64_t)c->waited;
		if (c->waited > 0)
			latencies_note(c->pc.pool, LATENCY_WAIT, c->waited);
		pool_client_set(&c->pc, client_logs_in(c) ?
		    CLIENT_LOGIN : CLIENT_ACTIVE);
	}
	if (stream_is_suspended(&s->stream))	/* suspended, and to log in */
		stream_unsuspend(&s->stream);
	pool_link(&c->pc, &s->ps);
	if (log_wants(LEVEL_NOISE))
		log_at(LEVEL_NOISE, &c->who, "linked to S-%p", (void *)s);
	if (!client_logs_in(c))
		return c->params == s->params || broker_same_params(c, s);
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
	if (!pool_is_down(p) || pool_is_paused(p, c->ss->catalog) ||
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

	client_fail_cause(c, (struct close_cause){
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
		broker_queue(c, own ? CLIENT_DEDICATED_WAITING : CLIENT_WAITING);
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

/* Suspended, others stand still; but who logs in has to come to an end. */
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
 * The client that is next, and the server it gets. An auth_query gets one that no client
 * has had: while such a one is on its way, those behind it go first; else
 * nobody does, for the next server to be released is closed in its favour.
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

/* --- parting --- */

void broker_touch_next(struct sessions *ss, const struct pool *p)
{
	for (int kind = 0; kind < LIMIT_KINDS; kind++) {
		struct pool *q = limit_is_near(p, (enum limit_kind)kind) ?
		    limit_next(p, (enum limit_kind)kind, ss->catalog,
		    time_now()) : NULL;

		if (q != NULL)
			broker_touch(ss, q);
	}
}

/* s has just served its pool: does the slot go to another pool now? */
static bool must_hand_over(const struct server *s)
{
	const struct pool *p = s->ps.pool;

	return (p->limits.max_db > 0 || p->limits.max_user > 0) &&
	    s->ps.state != SERVER_LOGIN && pool_pick_client(p) != NULL &&
	    limit_takes_away(&s->ps, s->ss->catalog, time_now());
}

/* lent: a client has used s since it was settled last. */
static void settle(struct server *s, bool lent)
{
	struct sessions *ss = s->ss;
	struct pool *p = s->ps.pool;
	enum close_reason why;

	/* the server closed right after its last reply */
	if (s->stream.hup || s->stream.broken) {
		server_close(s, CLOSE_SERVER_CRASHED);
		return;
	}
	if (pool_is_paused(p, ss->catalog)) {
		server_close(s, CLOSE_PAUSE_MODE);
		return;
	}
	why = limit_exceeded(&s->ps);
	if (why != CLOSE_NONE || must_hand_over(s)) {
		server_close(s, why != CLOSE_NONE ? why : CLOSE_EVICTED);
		return;
	}
	switch (pool_release_verdict(&s->ps, lent, time_now(), &why)) {
	case POOL_TO_CLOSE:
		if (why == CLOSE_SERVER_LIFETIME_OVER)
			p->last_lifetime_close = time_now();
		server_close(s, why);
		return;
	case POOL_TO_BEING_CANCELED:
		pool_server_set(&s->ps, SERVER_BEING_CANCELED);
		return;
	case POOL_TO_TESTED:
		pool_server_set(&s->ps, SERVER_TESTED);
		(void)server_send_query(s,
		    sessions_settings(ss)->server_reset_query, CHORE_RESET);
		return;
	case POOL_TO_USED:
		pool_server_set(&s->ps, SERVER_USED);
		broker_touch(ss, p);
		return;
	case POOL_TO_IDLE:
		pool_server_set(&s->ps, SERVER_IDLE);
		broker_serve(ss, p);
		if (s->ps.state == SERVER_IDLE)
			broker_touch_next(ss, p);
		if (p->lookups > 0)
			broker_touch(ss, p);
		return;
	}
}

void broker_settle(struct server *s)
{
	settle(s, s->ps.state == SERVER_ACTIVE ||
	    s->ps.state == SERVER_BEING_CANCELED);
}

void broker_idle_begins(struct client *c)
{
	if (c->ss->watch_idle && client_is_open(c) && !client_logs_in(c))
		timeout_start(&c->ss->idle_list, &c->timer, time_now());
}

void broker_adopt(struct client *c)
{
	if (c->pc.state != CLIENT_ACTIVE)
		return;		/* it keeps its place */
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

static void unlink_pair(struct client *c, struct server *s)
{
	canceler_detach(s);
	stream_flow_over(&s->stream);
	pool_unlink(&c->pc);
}

void broker_release(struct server *s)
{
	struct client *c = client_of(s->ps.client);

	if (log_wants(LEVEL_NOISE))
		log_at(LEVEL_NOISE, &c->who, "parted from S-%p", (void *)s);
	unlink_pair(c, s);
	broker_idle_begins(c);
	broker_settle(s);
}

void broker_chore_done(struct server *s)
{
	/* as if its client had released it just now */
	const bool lent = s->chore == CHORE_ROLLBACK ||
	    s->ps.state == SERVER_BEING_CANCELED;

	timeout_stop(&s->timer);
	s->chore = CHORE_NONE;
	settle(s, lent);
}

/* Why a server can't be kept when its client leaves now; CLOSE_NONE: it can. */
static enum close_reason spoiled(const struct client *c,
    const struct server *s)
{
	if (rest_passes(&c->rest) || stream_is_blocked(&s->stream))
		return CLOSE_CLIENT_GONE_WHILE_SENDING;
	if (s->chore != CHORE_NONE || s->phase == SERVER_PHASE_LOOKUP)
		return CLOSE_CLIENT_GONE_NOT_READY;
	if (!track_is_empty(&s->track))
		return CLOSE_CLIENT_GONE_IN_QUERY;
	if (!track_is_done(&s->track) || s->rest.bytes > 0 || s->carry.len > 0)
		return CLOSE_CLIENT_GONE_NOT_READY;
	return CLOSE_NONE;
}

/*
 * Is an open transaction all that stands between s and the next client? Then
 * the server owes nothing, has said nothing that was not read, and nothing is
 * on its way to it: a ROLLBACK is the next thing that it will see.
 */
static bool can_roll_back(const struct client *c, const struct server *s)
{
	const struct track *t = &s->track;

	return sessions_settings(s->ss)->server_rollback_on_disconnect &&
	    t->ready && t->status != 'I' && track_is_empty(t) &&
	    s->phase == SERVER_PHASE_POOLED && s->chore == CHORE_NONE &&
	    s->rest.bytes == 0 && s->carry.len == 0 &&
	    !rest_passes(&c->rest) &&
	    !stream_is_blocked(&s->stream) && !s->stream.hup &&
	    !s->stream.broken && !s->ps.dedicated && !s->ps.close_needed &&
	    s->ps.cancels == 0 && !pool_is_paused(s->ps.pool, s->ss->catalog);
}

static void roll_back(struct client *c, struct server *s)
{
	unlink_pair(c, s);
	pool_server_set(&s->ps, SERVER_TESTED);
	timeout_start(&s->ss->rollback_list, &s->timer, time_now());
	(void)server_send_query(s, "ROLLBACK", CHORE_ROLLBACK);
}

void broker_client_gone(struct client *c)
{
	if (c->pc.server == NULL)
		return;
	struct server *s = server_of(c->pc.server);
	const enum close_reason why = s->ps.state == SERVER_DEDICATED_LOGIN ?
	    CLOSE_REPLICATION_CLIENT_GONE : spoiled(c, s);

	stream_resume(&s->stream);
	if (why == CLOSE_NONE) {
		broker_release(s);
		return;
	}
	if (can_roll_back(c, s)) {
		roll_back(c, s);
		return;
	}
	/* still linked, so that no Terminate ends a message cut in half */
	server_close(s, why);
}
