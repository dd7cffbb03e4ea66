/* broker.c - joins clients and servers, as the pools decide.
 * SPDX-License-Identifier: ISC */
#include "broker/broker.h"

#include <stdio.h>
#include <utlist.h>

#include "base/probe.h"
#include "broker/broker_parts.h"
#include "pool/hosts.h"
#include "pool/latencies.h"
#include "pool/limit.h"
#include "pool/pool.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "sql/sql.h"
#include "sql/sql_words.h"

void broker_touch(struct sessions *ss, struct pool *p)
{
	catalog_touch_pool(ss->catalog, p);
}

/* --- joining --- */

/* Idle servers that are looked at for one that needs no SETs. */
#define NEAR_MAX 32

static struct pool_server *find_near(const struct client *c,
    struct pool_server *ps)
{
	int n = 0;

	for (struct pool_server *at = ps; at != NULL && n < NEAR_MAX;
	    at = at->next, n++)
		if (pool_is_usable(at) && at->lent &&
		    broker_has_same(c, server_of(at)))
			return at;
	return ps;
}

/* Hot: ps, or another one that has all that c wants already. */
static inline struct pool_server *prefer(const struct client *c,
    struct pool_server *ps)
{
	return !keep_sets(ps->pool) || client_logs_in(c) ||
	    (ps->lent && broker_has_same(c, server_of(ps))) ? ps :
	    find_near(c, ps);
}

/* Out of the hot path: of a server that has had temporary tables. */
static __attribute__((noinline, cold)) bool sets_temp_buffers(
    const struct server *s, const struct burst *ahead)
{
	static const char *const words[] = { "temp_buffers", NULL };

	return keep_sets(s->ps.pool) && ahead->len > 0 &&
	    sql_has_word(ahead->at, ahead->len < SQL_TEXT_MAX ? ahead->len :
	    SQL_TEXT_MAX, words);
}

/*
 * PostgreSQL takes no temp_buffers in a session that has had temporary tables. Of
 * those of others a client knows nothing: it gets another server.
 */
static inline bool refuses(const struct server *s, const struct burst *ahead)
{
	return s->keep.tabled && sets_temp_buffers(s, ahead);
}

/* The idle server that c gets, for what is ahead; NULL: none. */
static inline struct server *pick(struct client *c, const struct burst *ahead)
{
	struct pool_server *ps;

	while ((ps = pool_pick_server(c->pc.pool)) != NULL) {
		struct server *const s = server_of(prefer(c, ps));

		if (!refuses(s, ahead))
			return s;
		server_close(s, CLOSE_INVALID_SERVER_PARAMETER);
	}
	return NULL;
}

/*
 * Link both. Returns true when the client may go on at once, with what is ahead.
 */
static bool join(struct client *c, struct server *s,
    const struct burst *ahead)
{
	struct counters *n = &c->pc.pool->counted.now;
	usec_t waited = 0;

	if (!client_logs_in(c)) {
		timeout_stop(&c->timer);
		if (c->told != c->pc.pool->told)
			broker_tell_news(c);
	}
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
	s->keep.worn = s->ps.lent;
	s->keep.fresh = true;
	s->keep.resets = 0;
	s->schema_changed = SCHEMA_SAME;
	dialect_clear(&s->dialect);
	pool_link(&c->pc, &s->ps);
	PROBE(server__acquire, c->id, s->id,
	    c->pc.pool->key.db->name, c->waited);
	if (log_wants(LEVEL_NOISE))
		log_at(LEVEL_NOISE, &c->who, "linked to S-%p", (void *)s);
	if (!client_logs_in(c))
		return broker_sets_at_first(c, s, ahead);
	c->role->go_on(c);
	return false;
}

/* Does the latest failure of p's logins concern clients? Others wait it out. */
static bool fails_fast(const struct sessions *ss, const struct pool *p)
{
	return pool_is_down(p) && p->limits.attrs == ATTRS_ANY &&
	    !p->passing && !pool_stands_still(p, ss->catalog) &&
	    !drain_stops(ss->catalog, p, time_now());
}

static void refuse_cached(struct client *c)
{
	struct pool *const p = c->pc.pool;
	char text[sizeof((struct err *)0)->text + 128];

	snprintf(text, sizeof text, "server login has been failing, "
	    "cached error: %s (server_login_retry)", pool_failure(p));
	broker_refuse(c, (struct close_cause){
	    .reason = CLOSE_CACHED_ERROR, .text = text,
	    .hint = pool_failure_hint(p) });
}

/*
 * Fail c, and say true, if its pool cannot serve it now. If the next attempt is
 * due, or on its way, c waits for that.
 */
static bool fail_if_down(struct client *c)
{
	const struct pool *const p = c->pc.pool;

	if (c->ss->shutdown == SHUTDOWN_WAIT_FOR_SERVERS) {
		client_fail(c, CLOSE_SERVER_SHUTTING_DOWN);
		return true;
	}
	if (!fails_fast(c->ss, p) || p->server_count[SERVER_LOGIN] > 0 ||
	    pool_may_retry(p, time_now()) ||
	    c->pc.state == CLIENT_WELCOME ||
	    (c->replication != REPLICATION_NONE && !client_logs_in(c)))
		return false;
	refuse_cached(c);
	return true;
}

void broker_retry_failed(struct sessions *ss, struct pool *p, usec_t since)
{
	struct pool_client *head;

	if (!fails_fast(ss, p) || p->server_count[SERVER_LOGIN] > 0)
		return;
	while ((head = p->clients[CLIENT_WAITING]) != NULL &&
	    head->prev->wait_since > since)
		refuse_cached(client_of(head->prev));
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

bool broker_acquire(struct client *c, const struct burst *ahead)
{
	const bool own = c->replication != REPLICATION_NONE;
	const bool stopped = c->ss->suspended ||
	    pool_is_paused(c->pc.pool, c->ss->catalog) ||
	    c->pc.pool->lookups > 0;
	struct server *const s = own || stopped ? NULL : pick(c, ahead);

	if (s != NULL)
		return join(c, s, ahead);
	if (!fail_if_down(c))
		broker_queue(c, own ? CLIENT_DEDICATED_WAITING :
		    CLIENT_WAITING);
	return false;
}

void broker_look_up(struct client *c)
{
	struct pool *p = c->pc.pool;
	const bool paused = pool_is_paused(p, c->ss->catalog) && !c->pc.urgent;
	struct pool_server *ps = c->ss->still || paused ? NULL : clean_pick(p);

	if (ps != NULL)
		(void)join(c, server_of(ps), NULL);
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

/* Paused: one that may end the pause. */
static struct pool_client *pick_urgent(const struct pool *p)
{
	struct pool_client *pc;

	DL_FOREACH(p->clients[CLIENT_WAITING], pc) {
		if (pc->urgent)
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
	const bool paused = pool_is_paused(p, ss->catalog);

	*pc = paused ? pick_urgent(p) : ss->suspended ? pick_login(p) :
	    pool_pick_client(p);
	*ps = pool_pick_server(p);
	if (*pc == NULL || *ps == NULL)
		return false;
	if (!(*pc)->lookup) {
		*ps = prefer(client_of(*pc), *ps);
		return true;
	}
	struct pool_server *clean = clean_pick(p);

	if (clean != NULL) {
		*ps = clean;
		return true;
	}
	if (paused || ss->suspended || (clean_is_wanted(p, time_now()) &&
	    !drain_stops(ss->catalog, p, time_now())))
		return false;
	*pc = clean_pick_other(p);
	return *pc != NULL;
}

/* Out of line: most servers that are given back find nobody who waits. */
static __attribute__((noinline)) void serve(struct sessions *ss,
    struct pool *p)
{
	struct pool_client *pc;
	struct pool_server *ps;

	p->serving = true;
	while (!ss->still && !pool_stands_still(p, ss->catalog)) {
		if (!pick_pair(ss, p, &pc, &ps))
			break;
		struct client *const c = client_of(pc);
		const struct burst ahead = { c->carry.at, c->carry.len };

		if (!client_logs_in(c) && refuses(server_of(ps), &ahead)) {
			server_close(server_of(ps),
			    CLOSE_INVALID_SERVER_PARAMETER);
			continue;
		}
		if (join(c, server_of(ps), &ahead))
			c->role->go_on(c);
	}
	p->serving = false;
}

void broker_serve(struct sessions *ss, struct pool *p)
{
	if (pool_pick_client(p) != NULL && !p->serving)
		serve(ss, p);
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
