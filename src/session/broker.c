/* broker.c - joins and parts clients and servers, as the pools decide.
 * SPDX-License-Identifier: ISC */
#include "session/broker.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "pool/limit.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/writer.h"
#include "session/cancel.h"
#include "session/client.h"
#include "session/peer.h"
#include "session/relay.h"
#include "session/replication.h"
#include "session/server.h"
#include "session/sessions.h"

static bool is_paused(const struct sessions *ss, const struct pool *p)
{
	return pool_is_paused(p, ss->catalog);
}

void broker_touch(struct sessions *ss, struct pool *p)
{
	catalog_touch_pool(ss->catalog, p);
}

/* --- joining --- */

/*
 * Give the server the client's parameters where they differ. Returns true
 * when nothing is to be done; else the client waits, or was closed.
 */
static bool same_params(struct client *c, struct server *s)
{
	struct writer w;

	if (c->params == s->params)
		return true;
	writer_init(&w, 1 << 20);
	const int n = params_write_sets(c->params, s->params, &w);

	writer_u8(&w, 0);
	if (n == 0 && !w.failed) {
		writer_fini(&w);
		return true;
	}
	stream_pause(&c->stream);
	if (w.failed)
		server_close(s, "invalid server parameter");
	else
		(void)server_send_query(s, (const char *)w.at, CHORE_PARAMS);
	writer_fini(&w);
	return false;
}

/* Link both. Returns true when the client may go on at once. */
static bool join(struct client *c, struct server *s)
{
	struct counters *n = &c->pc.pool->counted.now;

	timeout_stop(&c->timer);
	if (c->pc.state == CLIENT_WAITING) {
		n->wait_time += (uint64_t)(time_now() - c->pc.wait_since);
		pool_client_set(&c->pc, CLIENT_ACTIVE);
	}
	pool_link(&c->pc, &s->ps);
	s->looked_again = c->looked_again = false;
	if (log_wants(LEVEL_NOISE))
		log_at(LEVEL_NOISE, &c->who, "linked to S-%p", (void *)s);
	return same_params(c, s);
}

/* Nobody may queue who can't be served. Returns false when c was closed. */
static bool may_queue(struct client *c)
{
	struct pool *p = c->pc.pool;
	char text[sizeof p->failure.text + 128];

	if (c->ss->shutdown == SHUTDOWN_WAIT_FOR_SERVERS) {
		client_fail(c, NULL, "server shutting down");
		return false;
	}
	if (!pool_is_down(p) || is_paused(c->ss, p) ||
	    c->pc.state == CLIENT_WELCOME ||
	    c->replication != REPLICATION_NONE)
		return true;
	snprintf(text, sizeof text, "server login has been failing, "
	    "cached error: %s (server_login_retry)", p->failure.text);
	struct sessions *ss = c->ss;
	struct pool_server *victim;
	const bool retry = time_now() - p->last_launch >=
	    p->limits.login_retry && p->server_count[SERVER_LOGIN] == 0 &&
	    limit_check(p, &victim) == LIMIT_FREE;

	client_fail(c, NULL, text);
	if (retry)
		server_launch(ss, p);
	return false;
}

static void queue(struct client *c, enum client_state state)
{
	c->pc.wait_since = time_now();
	c->notified = false;
	timeout_stop(&c->timer);
	pool_client_set(&c->pc, state);
	stream_pause(&c->stream);
	log_at(LEVEL_DEBUG, &c->who, "active -> %s",
	    state == CLIENT_WELCOME ? "welcome" : "waiting");
	broker_touch(c->ss, c->pc.pool);
}

bool broker_acquire(struct client *c)
{
	const bool own = c->replication != REPLICATION_NONE;
	struct pool_server *ps = own || is_paused(c->ss, c->pc.pool) ? NULL :
	    pool_pick_server(c->pc.pool);

	if (ps != NULL)
		return join(c, server_of(ps));
	if (may_queue(c))
		queue(c, own ? CLIENT_OWN_WAITING : CLIENT_WAITING);
	return false;
}

/* As long as there are both, the oldest waiter gets the next server. */
static void serve(struct sessions *ss, struct pool *p)
{
	if (p->serving)
		return;
	p->serving = true;
	while (!is_paused(ss, p)) {
		struct pool_client *pc = pool_pick_client(p);
		struct pool_server *ps = pool_pick_server(p);

		if (pc == NULL || ps == NULL)
			break;
		if (join(client_of(pc), server_of(ps)))
			relay_resume(client_of(pc));
	}
	p->serving = false;
}

/* --- parting --- */

static void touch_waiting(struct sessions *ss, struct pool *p)
{
	if (p->client_count[CLIENT_WAITING] > 0 ||
	    p->client_count[CLIENT_WELCOME] > 0 ||
	    p->client_count[CLIENT_OWN_WAITING] > 0)
		broker_touch(ss, p);
}

/*
 * A server of p is spare now, or gone: where a limit was reached, those who
 * share it may be waiting for a victim, or a slot.
 */
static void touch_neighbours(struct sessions *ss, struct pool *p)
{
	const struct database *db = p->key.db;
	const struct user *u = p->key.user;

	if (p->limits.max_db > 0 &&
	    db->servers + 1 >= (unsigned)p->limits.max_db)
		for (struct pool *q = db->pools; q != NULL; q = q->db_next)
			touch_waiting(ss, q);
	if (p->limits.max_user > 0 &&
	    u->servers + 1 >= (unsigned)p->limits.max_user)
		for (struct pool *q = u->pools; q != NULL; q = q->user_next)
			touch_waiting(ss, q);
}

/* s has no client: where does it go? */
static void settle(struct server *s)
{
	struct sessions *ss = s->ss;
	struct pool *p = s->ps.pool;
	const char *why = "";

	/* it left right behind its last word: nobody else must get it */
	if (s->stream.hup || s->stream.broken) {
		server_close(s, "server conn crashed?");
		return;
	}
	if (is_paused(ss, p)) {
		server_close(s, "pause mode");
		return;
	}
	switch (pool_release_verdict(&s->ps, time_now(), &why)) {
	case POOL_TO_CLOSE:
		if (strcmp(why, "server lifetime over") == 0)
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
		serve(ss, p);
		if (s->ps.state == SERVER_IDLE)
			touch_neighbours(ss, p);
		return;
	}
}

static void idle_begins(struct client *c)
{
	if (c->ss->watch_idle && client_is_open(c))
		timeout_start(&c->ss->idle_list, &c->timer, time_now());
}

void broker_leave_queue(struct client *c)
{
	c->pc.pool->counted.now.wait_time +=
	    (uint64_t)(time_now() - c->pc.wait_since);
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	idle_begins(c);
}

void broker_release(struct server *s)
{
	struct client *c = client_of(s->ps.client);

	if (log_wants(LEVEL_NOISE))
		log_at(LEVEL_NOISE, &c->who, "parted from S-%p", (void *)s);
	cancel_detach(s);
	pool_unlink(&c->pc);
	idle_begins(c);
	if (s->track.doubt)
		server_close(s, "client disconnected with queries in progress");
	else
		settle(s);
}

void broker_chore_done(struct server *s)
{
	s->chore = CHORE_NONE;
	settle(s);
}

/* Why a server can't be kept when its client leaves now; NULL: it can. */
static const char *spoiled(const struct client *c, const struct server *s)
{
	if ((c->skip > 0 && !c->skip_drop) || stream_is_blocked(&s->stream))
		return "client disconnect before everything was sent to the "
		    "server";
	if (s->chore != CHORE_NONE)
		return "client disconnect while server was not ready";
	if (!track_is_empty(&s->track))
		return "client disconnected with query in progress";
	if (!track_is_done(&s->track) || s->skip > 0 || s->carry.len > 0)
		return "client disconnect while server was not ready";
	return NULL;
}

void broker_client_gone(struct client *c)
{
	if (c->pc.server == NULL)
		return;
	struct server *s = server_of(c->pc.server);
	const char *why = s->ps.state == SERVER_OWN_LOGIN ?
	    "replication client disconnected" : spoiled(c, s);

	stream_resume(&s->stream);
	if (why == NULL) {
		broker_release(s);
		return;
	}
	/* still linked, so that no Terminate ends a message cut in half */
	server_close(s, why);
}

/* --- logins --- */

static void send_welcome(struct client *c)
{
	const struct welcome *w = c->pc.pool->welcome;

	client_send_welcome(c, w->params, w->bytes, w->len);
}

void broker_welcome(struct client *c)
{
	if (c->pc.pool->welcome != NULL)
		send_welcome(c);
	else if (c->ss->shutdown == SHUTDOWN_WAIT_FOR_SERVERS)
		client_fail(c, NULL, "server shutting down");
	else
		queue(c, c->replication != REPLICATION_NONE ?
		    CLIENT_OWN_WAITING : CLIENT_WELCOME);
	if (client_is_open(c) && c->welcomed)
		idle_begins(c);
}

/* The first server told what the clients have waited for. */
static void welcome_all(struct pool *p)
{
	while (p->welcome != NULL && p->clients[CLIENT_WELCOME] != NULL) {
		struct client *c = client_of(p->clients[CLIENT_WELCOME]);

		pool_client_set(&c->pc, CLIENT_ACTIVE);
		send_welcome(c);
		if (!client_is_open(c))
			continue;
		idle_begins(c);
		relay_resume(c);
	}
}

void broker_server_ready(struct server *s)
{
	struct pool *p = s->ps.pool;

	p->failing = false;
	broker_touch(s->ss, p);
	if (s->ps.own) {
		replication_ready(s);
		return;
	}
	welcome_all(p);
	settle(s);
}

static void fail_all(struct pool *p, enum client_state state,
    const char *code, const char *reason)
{
	while (p->clients[state] != NULL)
		client_fail(client_of(p->clients[state]), code, reason);
}

/*
 * The login, or what else a new connection is for, was in vain. A carrier is
 * one that has its target still, or has got as far as to send something.
 */
static void on_failure(struct server *s)
{
	struct pool *p = s->ps.pool;

	if (s->phase == SERVER_PHASE_CANCEL || s->target != NULL ||
	    p->peer_id != 0) {
		cancel_failed(s);
		return;
	}
	if (s->ps.own) {
		replication_failed(s);
		return;
	}
	p->failing = true;
	p->failure = s->failure;
	hosts_failed(p);
	/* a refusal that concerns everybody: nobody need wait for the next */
	if (!s->refused || (pool_connected(p) > 0 && p->welcome != NULL))
		return;
	fail_all(p, CLIENT_WAITING, s->failure.code, s->failure.text);
	fail_all(p, CLIENT_WELCOME, s->failure.code, s->failure.text);
}

void broker_server_gone(struct server *s, const char *reason)
{
	if (s->failure.code[0] != '\0')
		on_failure(s);
	struct pool_client *pc = s->ps.client;

	cancel_carrier_gone(s);
	cancel_target_gone(s);
	if (pc != NULL) {
		struct client *c = client_of(pc);

		pool_unlink(pc);
		c->torn = s->skip > 0 && !s->skip_drop;
		client_fail(c, NULL, reason);
	}
	broker_touch(s->ss, s->ps.pool);
	touch_neighbours(s->ss, s->ps.pool);
}

/* --- the end of a turn --- */

/* Is there a server that was idle for long, and somebody waiting for it? */
static void check_used(struct sessions *ss, struct pool *p)
{
	const char *query = sessions_settings(ss)->server_check_query;
	unsigned waiting = p->client_count[CLIENT_WAITING];

	if (strcmp(query == NULL ? "" : query, "<empty>") == 0)
		query = "";
	while (p->servers[SERVER_USED] != NULL &&
	    waiting > p->server_count[SERVER_TESTED] +
	    p->server_count[SERVER_IDLE]) {
		struct server *s = server_of(p->servers[SERVER_USED]);
		const bool fresh = p->limits.check_delay > 0 &&
		    time_now() - s->ps.used < p->limits.check_delay;

		if (fresh || !p->limits.check) {
			pool_server_set(&s->ps, SERVER_IDLE);
			serve(ss, p);
			waiting = p->client_count[CLIENT_WAITING];
			continue;
		}
		pool_server_set(&s->ps, SERVER_TESTED);
		(void)server_send_query(s, query, CHORE_CHECK);
	}
}

/* Make room under the limits of database and user. */
static bool make_room(struct pool *p)
{
	struct pool_server *victim;

	for (;;) {
		switch (limit_check(p, &victim)) {
		case LIMIT_FREE:
			return true;
		case LIMIT_FULL:
			return false;
		case LIMIT_EVICT:
			server_close(server_of(victim), "evicted");
		}
	}
}

static void launch(struct sessions *ss, struct pool *p)
{
	bool reserve;

	while (pool_wanted(p, time_now(), &reserve) > 0 && make_room(p)) {
		if (reserve)
			log_at(LEVEL_WARNING, &client_of(
			    p->clients[CLIENT_WAITING])->who,
			    "taking connection from reserve_pool");
		server_launch(ss, p);
	}
}

static void close_list(struct pool *p, enum server_state state,
    const char *why)
{
	while (p->servers[state] != NULL)
		server_close(server_of(p->servers[state]), why);
}

static void hold(struct pool *p)
{
	close_list(p, SERVER_IDLE, "pause mode");
	close_list(p, SERVER_USED, "pause mode");
	close_list(p, SERVER_LOGIN, "pause mode");
	replication_drop_logins(p, "pause mode");
}

static void look_at(struct sessions *ss, struct pool *p)
{
	if (p->key.db->console)
		return;
	if (p->peer_id != 0) {
		peer_launch(ss, p);
		return;
	}
	cancel_launch(ss, p);
	if (ss->shutdown == SHUTDOWN_WAIT_FOR_SERVERS) {
		fail_all(p, CLIENT_WAITING, NULL, "server shutting down");
		fail_all(p, CLIENT_WELCOME, NULL, "server shutting down");
		fail_all(p, CLIENT_OWN_WAITING, NULL, "server shutting down");
	}
	if (is_paused(ss, p)) {
		hold(p);
		return;
	}
	welcome_all(p);
	serve(ss, p);
	check_used(ss, p);
	replication_launch(p);
	launch(ss, p);
}

void broker_turn(struct sessions *ss)
{
	struct pool *p;

	while ((p = catalog_take_touched(ss->catalog)) != NULL)
		look_at(ss, p);
}

/* --- what the console and the configuration ask for --- */

static void drop_welcome(struct pool *p)
{
	if (p->welcome == NULL)
		return;
	params_unref(&p->welcome->params);
	mem_free(p->welcome);
	p->welcome = NULL;
}

static void mark(struct pool *p, enum server_state state)
{
	for (struct pool_server *ps = p->servers[state]; ps; ps = ps->next)
		ps->close_needed = true;
}

void broker_reconnect_pool(struct sessions *ss, struct pool *p)
{
	drop_welcome(p);
	p->old_protocol = false;
	close_list(p, SERVER_LOGIN, "connect string changed");
	replication_drop_logins(p, "connect string changed");
	close_list(p, SERVER_IDLE, "database configuration changed");
	close_list(p, SERVER_USED, "database configuration changed");
	mark(p, SERVER_ACTIVE);
	mark(p, SERVER_TESTED);
	mark(p, SERVER_BEING_CANCELED);
	broker_touch(ss, p);
}

void broker_reconnect(struct sessions *ss, struct database *db)
{
	for (struct pool *p = db->pools; p != NULL; p = p->db_next)
		broker_reconnect_pool(ss, p);
}

void broker_kill_pool(struct sessions *ss, struct pool *p)
{
	static const char why[] = "database removed";

	for (int i = CLIENT_ACTIVE; i < CLIENT_CANCEL_WAITING; i++)
		fail_all(p, (enum client_state)i, NULL, why);
	/* who brought a cancel request is told nothing, ever */
	for (int i = CLIENT_CANCEL_WAITING; i < CLIENT_STATES; i++)
		while (p->clients[i] != NULL)
			client_close(client_of(p->clients[i]), why);
	for (int i = 0; i < SERVER_GONE; i++)
		close_list(p, (enum server_state)i, why);
	catalog_drop_pool(ss->catalog, p);
}

void broker_kill_database(struct sessions *ss, struct database *db)
{
	struct timeout *t = ss->login_list.head, *next;

	for (; t != NULL; t = next) {
		struct client *c = (struct client *)((char *)t -
		    offsetof(struct client, timer));

		next = t->next;
		if (c->db == db)
			client_fail(c, NULL, "database removed");
	}
	while (db->pools != NULL)
		broker_kill_pool(ss, db->pools);
}

void broker_pause_changed(struct sessions *ss)
{
	for (struct pool *p = ss->catalog->pools; p; p = p->hh.next)
		broker_touch(ss, p);
}

bool broker_is_quiet(const struct sessions *ss, const struct database *db)
{
	for (const struct pool *p = ss->catalog->pools; p; p = p->hh.next) {
		if (p->key.db->console || (db != NULL && p->key.db != db))
			continue;
		if (p->server_count[SERVER_ACTIVE] > 0 ||
		    p->server_count[SERVER_TESTED] > 0)
			return false;
	}
	return true;
}
