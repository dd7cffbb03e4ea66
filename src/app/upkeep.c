/* upkeep.c - what a pool and a database need from time to time.
 * SPDX-License-Identifier: ISC */
#include "app/upkeep.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "app/app.h"
#include "app/idle.h"
#include "base/err.h"
#include "base/log.h"
#include "broker/broker.h"
#include "pool/due.h"
#include "pool/hosts.h"
#include "pool/limit.h"
#include "pool/wait.h"
#include "proto/msg.h"
#include "relay/relay_silence.h"
#include "session/client.h"
#include "session/server.h"
#include "session/timers.h"
#include "state/keep.h"
#include "upstream/server_attempt.h"
#include "upstream/server_launch.h"

#define QUEUED_NOTICE "No server connection available in postgres backend, " \
	"client being queued"

/* A pool, the moment, and what counts now: read once for all its members. */
struct round {
	struct app *app;
	struct pool *pool;
	const struct settings *set;
	usec_t now;
	bool paused;
	bool down;		/* waiting is in vain until a login works */
};

static bool upkeep_is_over(usec_t limit, usec_t age)
{
	return limit > 0 && age > limit;
}

/* --- clients that wait --- */

/*
 * (section 10) Has c waited long enough for a server that is down? A client that
 * was there before the failure waits on: most outages are short.
 */
static bool down_over(const struct round *r, const struct client *c)
{
	const bool came_later = !c->welcomed || client_logs_in(c) ||
	    c->pc.wait_since > r->pool->failing_since;

	return r->down && came_later &&
	    upkeep_is_over(r->pool->limits.down_timeout,
		time_age(c->pc.wait_since, r->now));
}

/* Why c may not wait any longer; CLOSE_NONE: it may. (section 12) */
static enum close_reason wait_over(const struct round *r,
    const struct client *c)
{
	const usec_t age = time_age(c->query_start != 0 ? c->query_start :
	    c->request_time, r->now);

	if (!c->welcomed && !client_logs_in(c) &&
	    upkeep_is_over(r->set->client_login_timeout,
		time_age(c->born, r->now)))
		return CLOSE_LOGIN_TIMEOUT_SERVER_DOWN;
	if (down_over(r, c))
		return client_logs_in(c) ? CLOSE_SERVER_LOGIN_FAILED :
		    CLOSE_SERVER_DOWN_TIMEOUT;
	if (upkeep_is_over(r->set->query_timeout, age))
		return CLOSE_WAITING_QUERY_TIMEOUT;
	if (upkeep_is_over(effective_query_wait(r->set, c->user, c->db), age))
		return CLOSE_QUERY_WAIT_TIMEOUT;
	return CLOSE_NONE;
}

/* Tell c why it waits: with the end of its session, or a notice. */
static void explain_wait(const struct round *r, struct client *c,
    enum close_reason end)
{
	struct wait_text why;

	wait_explain(r->pool, wait_reason(r->pool,
	    (enum client_state)c->pc.state, r->app->catalog, r->now),
	    &why);
	if (client_logs_in(c)) {
		client_fail(c, end);	/* a stranger */
	} else if (end != CLOSE_NONE) {
		struct close_cause cause = close_cause(end);

		cause.detail = why.detail;
		cause.hint = why.hint;
		client_fail_cause(c, cause);
	} else {
		client_send_notice(c, &(struct report){ "NOTICE",
		    ERRCODE_SUCCESSFUL_COMPLETION, QUEUED_NOTICE, why.detail,
		    why.hint });
	}
}

void upkeep_fail_login(struct app *app, struct client *c, usec_t now)
{
	const struct round r = { .app = app, .pool = c->pc.pool,
		.set = &app->config->set, .now = now };

	explain_wait(&r, c, CLOSE_LOGIN_TIMEOUT_SERVER_DOWN);
}

static bool wants_notice(const struct round *r, const struct client *c)
{
	const int limit = r->set->query_wait_notify;

	return limit > 0 && c->welcomed && !c->notified && !r->paused &&
	    time_age(c->pc.wait_since, r->now) / USEC > limit;
}

/* Returns false when c waits for so short a time that nothing was due. */
static bool check_waiter(const struct round *r, struct client *c)
{
	const enum close_reason why = wait_over(r, c);

	if (why != CLOSE_NONE) {
		explain_wait(r, c, why);
		return true;
	}
	if (!wants_notice(r, c))
		return c->notified;
	c->notified = true;
	explain_wait(r, c, CLOSE_NONE);
	return true;
}

/*
 * The queue is in order of waiting, so the first client for which nothing is
 * due ends the walk; unless login users with limits of their own share it, or
 * clients that wait for the welcome, whose time counts from the connect, or
 * those that came while the server is down.
 */
static void check_queue(const struct round *r, enum client_state state)
{
	const bool mixed = state != CLIENT_WAITING || r->down ||
	    (r->pool->key.db->conf->user != NULL &&
	    r->app->config->users != NULL);
	struct pool_client *pc, *next;

	DL_FOREACH_SAFE(r->pool->clients[state], pc, next) {
		if (!check_waiter(r, client_of(pc)) && !mixed)
			return;
		if (next != NULL && next->state != state)
			return;
	}
}

/* --- servers at work --- */

static bool is_in_transaction(const struct server *s)
{
	return s->track.ready && track_is_empty(&s->track) &&
	    s->track.status != 'I';
}

/* Why s is taken from its client c; CLOSE_NONE: go on. (sections 11, 12) */
static enum close_reason work_over(const struct round *r,
    const struct server *s, const struct client *c,
    const struct effective_work *limits)
{
	const bool done = track_is_done(&s->track);

	if (s->ps.close_needed && (c->replication != REPLICATION_NONE ||
	    (r->set->server_fast_close && done)))
		return CLOSE_CONFIGURATION_CHANGED;
	/* a stream is one command that never ends, nor do its snapshots */
	if (c->replication != REPLICATION_NONE)
		return CLOSE_NONE;
	if (c->query_start != 0 &&
	    upkeep_is_over(limits->query, time_age(c->query_start, r->now)))
		return CLOSE_QUERY_TIMEOUT;
	if (is_in_transaction(s) &&
	    upkeep_is_over(limits->idle_transaction,
		time_age(s->ps.used, r->now)))
		return CLOSE_IDLE_TRANSACTION_TIMEOUT;
	if (c->xact_start != 0 && !done &&
	    upkeep_is_over(limits->transaction,
		time_age(c->xact_start, r->now)))
		return CLOSE_TRANSACTION_TIMEOUT;
	return CLOSE_NONE;
}

/* Is s kept for a client that does nothing? (section 25) */
static bool pin_over(const struct round *r, const struct server *s)
{
	return s->keep.pins != 0 && s->own_query == OWN_QUERY_NONE &&
	    track_is_done(&s->track) && s->track.status == 'I' &&
	    upkeep_is_over(r->pool->limits.pin_timeout,
		time_age(s->ps.used, r->now));
}

static void end_pin(struct client *c, const struct server *s)
{
	struct close_cause why = close_cause(CLOSE_PIN_TIMEOUT);
	char hint[200], text[KEEP_PINS_MAX];

	keep_name_pins(s->keep.pins, text);
	snprintf(hint, sizeof hint, "This session pinned a server (%s), and was "
	    "idle for pin_timeout. Remove this state when it is no longer "
	    "needed.", text);
	log_at(LEVEL_WARNING, &c->who, "has kept a server (%s), and was idle "
	    "for pin_timeout", text);
	why.hint = hint;
	client_fail_cause(c, why);
}

static void check_work(const struct round *r)
{
	const struct effective_work limits = effective_work(r->set,
	    r->pool->key.user);
	struct pool_server *ps, *next;

	DL_FOREACH_SAFE(r->pool->servers[SERVER_ACTIVE], ps, next) {
		struct server *const s = server_of(ps);
		const enum close_reason why = ps->client == NULL ? CLOSE_NONE :
		    work_over(r, s, client_of(ps->client), &limits);

		/* the client is told by the broker, with the same reason */
		if (why != CLOSE_NONE)
			server_close(s, why);
		else if (ps->client != NULL && pin_over(r, s))
			end_pin(client_of(ps->client), s);
		else if (ps->client != NULL && !track_is_empty(&s->track))
			relay_look_at(client_of(ps->client), s,
			    r->set->server_connect_timeout);
		if (next != NULL && next->state != SERVER_ACTIVE)
			return;
	}
}

/* --- idle servers --- */

/* Why s must go; CLOSE_NONE: it may stay. (section 11, first match) */
static enum close_reason idle_over(const struct round *r,
    const struct server *s)
{
	static const enum close_reason dirty[SERVER_STATES] = {
		[SERVER_IDLE] = CLOSE_SV_IDLE_GOT_DIRTY,
		[SERVER_USED] = CLOSE_SV_USED_GOT_DIRTY,
	};
	struct pool *const p = r->pool;

	if (s->ps.close_needed)
		return CLOSE_CONFIGURATION_CHANGED;
	if (dirty[s->ps.state] != CLOSE_NONE && !track_is_done(&s->track))
		return dirty[s->ps.state];
	if (upkeep_is_over(p->limits.idle_timeout, r->now - s->ps.used) &&
	    due_is_above_minimum(p))
		return CLOSE_SERVER_IDLE_TIMEOUT;
	if (pool_lifetime_over(&s->ps, r->now)) {
		p->last_lifetime_close = r->now;
		return CLOSE_SERVER_LIFETIME_OVER;
	}
	return r->paused ? CLOSE_PAUSE_MODE : CLOSE_NONE;
}

static void check_idle_server(const struct round *r, struct pool_server *ps)
{
	const struct pool_limits *const l = &r->pool->limits;
	const enum close_reason why = idle_over(r, server_of(ps));

	if (why != CLOSE_NONE)
		server_close(server_of(ps), why);
	else if (ps->state == SERVER_IDLE && l->check &&
	    r->now - ps->used > l->check_delay)
		pool_server_set(ps, SERVER_USED);
}

/* From the tail, where the servers are that were not used for longest. */
static void check_idle_in(const struct round *r, enum server_state state)
{
	struct pool_server *ps = r->pool->servers[state];

	if (ps != NULL)
		ps = ps->prev;
	while (ps != NULL && ps->state == state) {
		struct pool_server *const before =
		    ps == r->pool->servers[state] ? NULL : ps->prev;

		check_idle_server(r, ps);
		ps = before;
	}
}

/* The server to do without first, or NULL. */
static struct pool_server *upkeep_surplus(const struct pool *p)
{
	const struct pool_server *head = p->servers[SERVER_USED];

	if (!limit_is_oversize(p))
		return NULL;
	if (head == NULL)
		head = p->servers[SERVER_IDLE];
	return head != NULL ? head->prev : NULL;
}

/*
 * Look at each, where it was time for that. Returns when they are to be looked
 * at again if none is used until then.
 */
static usec_t check_idle_servers(const struct round *r)
{
	struct pool *const p = r->pool;

	if (!r->paused && r->now < p->idle_due_at)
		return p->idle_due_at;
	check_idle_in(r, SERVER_USED);
	check_idle_in(r, SERVER_TESTED);
	check_idle_in(r, SERVER_IDLE);
	return due_idle_servers(p, r->now);
}

/* The machine of a PostgreSQL that is stopped accepts connections all the same. */
static void check_logins(const struct round *r)
{
	struct pool *const p = r->pool;
	const usec_t patience = hosts_patience(p);
	struct pool_server *ps, *next;

	if (patience == 0)
		return;
	DL_FOREACH_SAFE(p->servers[SERVER_LOGIN], ps, next) {
		struct server *const s = server_of(ps);

		if (ps->state != SERVER_LOGIN)
			return;
		const usec_t since = server_attempt_waits_since(s);

		if (since > r->now || r->now - since < patience ||
		    s->host.kind == HOST_NONE)
			continue;
		hosts_abandon(p, s->host.item);
		server_fail(s, CLOSE_CONNECT_TIMEOUT);
		return;
	}
}

/*
 * Logins of the pool fail, and no client waits: when the pooler tries by itself.
 * A database of the "*" entry may be one that nobody has but a client's typo.
 */
static usec_t retry_due(const struct round *r)
{
	const struct pool *const p = r->pool;

	if (!pool_is_down(p) || p->server_count[SERVER_LOGIN] > 0 ||
	    due_has_waiters(p) || p->key.db->own != NULL || p->peer_id != 0 ||
	    r->paused || r->app->ss.shutdown != SHUTDOWN_NONE ||
	    drain_stops(r->app->catalog, p, r->now))
		return WHEEL_NEVER;
	return pool_retry_alone(p);
}

static void check_size(const struct round *r)
{
	struct pool *const p = r->pool;
	struct pool_server *ps;

	while ((ps = upkeep_surplus(p)) != NULL) {
		server_close(server_of(ps), CLOSE_TOO_MANY_SERVERS);
		if (ps->state != SERVER_GONE)
			return;
	}
	while ((ps = limit_surplus(p)) != NULL) {
		server_close(server_of(ps), CLOSE_EVICTED);
		if (ps->state != SERVER_GONE)
			return;
	}
	if (r->paused || drain_stops(r->app->catalog, p, r->now) ||
	    (!pool_wanted_minimum(p, r->now) && retry_due(r) > r->now))
		return;
	/* nobody is evicted for it (section 6) */
	if (limit_check(p, r->now, &ps) == LIMIT_FREE)
		server_launch(&r->app->ss, p);
}

/* --- pools and databases nobody needs --- */

/* Whoever logs in may have found its pool already and is not in it yet. */
static bool login_needs(const struct app *app, const struct pool *p)
{
	struct timeout *t;

	DL_FOREACH(app->ss.login_list.head, t) {
		if (client_of_timer(t)->pc.pool == p)
			return true;
	}
	return false;
}

/* Note since when it has been unused in *since; is it for too long? */
static bool unused_for(usec_t *since, bool used, usec_t limit, usec_t now)
{
	if (used)
		*since = 0;
	else if (*since == 0)
		*since = now;
	return *since != 0 && upkeep_is_over(limit, now - *since);
}

/* Nobody needs p, and has not for long. */
static bool is_abandoned_pool(const struct round *r)
{
	struct pool *const p = r->pool;
	const bool used = due_is_used(p);
	const bool kept = p->key.db->conf->user != NULL && p->limits.min > 0;

	if (used == (p->unused_since != 0))
		wheel_wake(&p->key.db->wheel);
	return unused_for(&p->unused_since, used, r->set->pool_idle_timeout,
	    r->now) && !kept && p->share.ledger == NULL &&
	    !login_needs(r->app, p);
}

static void drop_pool(const struct round *r)
{
	struct pool *const p = r->pool;

	log_info("cleaning up idle pool for user %s on db %s because: "
	    "pool idle timeout (age= %llds)", p->key.user->name,
	    p->key.db->name, (long long)((r->now - p->unused_since) / USEC));
	broker_kill_pool(&r->app->ss, p);
}

void upkeep_pool(struct app *app, struct pool *p, usec_t now)
{
	const struct round r = {
		.app = app,
		.pool = p,
		.set = &app->config->set,
		.now = now,
		.paused = pool_stands_still(p, app->catalog),
		.down = pool_is_down(p) && p->limits.down_timeout > 0 &&
		    !pool_stands_still(p, app->catalog) &&
		    !drain_stops(app->catalog, p, now),
	};

	averages_note(&app->catalog->averages, p);
	if (p->key.db->console)
		return;
	check_queue(&r, CLIENT_WAITING);
	check_queue(&r, CLIENT_WELCOME);
	check_queue(&r, CLIENT_DEDICATED_WAITING);
	check_work(&r);
	check_logins(&r);
	const usec_t idle = check_idle_servers(&r);

	check_size(&r);
	/* for some, time alone changes what may be done: retry, the reserve */
	if (due_has_waiters(p) || p->hearing.idle_since != 0)
		broker_touch(&app->ss, p);
	if (is_abandoned_pool(&r))
		drop_pool(&r);
	else
		wheel_hasten(&p->wheel, due_next(p, &(struct due_times){
		    .now = now, .retry = retry_due(&r), .idle = idle,
		    .unused = r.set->pool_idle_timeout }));
}

/* A forced user's servers can be there before the first client. */
static void make_minimum_pool(struct app *app, struct database *db, usec_t now)
{
	const struct config_db *const conf = db->conf;
	const int min = conf->min_pool_size >= 0 ? conf->min_pool_size :
	    app->config->set.min_pool_size;

	if (conf->user == NULL || min <= 0 || db->paused ||
	    app->catalog->paused)
		return;
	struct user *const u = catalog_get_user(app->catalog, conf->user);

	if (u != NULL && catalog_get_pool(app->catalog, db, u) != NULL)
		return;
	log_warning("out of memory: no pool for database '%s'", db->name);
	wheel_hasten(&db->wheel, now + DUE_AGAIN);
}

/* Also by logins that wait in a pool of db for auth_query: not clients of db. */
static bool database_is_used(const struct database *db)
{
	if (db->clients > 0 || db->servers > 0)
		return true;
	for (const struct pool *p = db->pools; p != NULL; p = p->db_next) {
		if (due_is_used(p))
			return true;
	}
	return false;
}

/* Servers that were opened for logins that are over are of no use. */
static bool is_tried(const struct database *db)
{
	if (db->clients > 0)
		return true;
	for (const struct pool *p = db->pools; p != NULL; p = p->db_next) {
		if (due_has_clients(p))
			return true;
	}
	return false;
}

/* A database of autodb_idle_timeout; before the first login it has no respite. */
static bool is_abandoned(const struct app *app, struct database *db, usec_t now)
{
	const bool used = database_is_used(db);

	return db->tentative ? !is_tried(db) : unused_for(&db->unused_since, used,
	    app->config->set.autodb_idle_timeout, now);
}

static void upkeep_drop_database(struct app *app, struct database *db)
{
	if (!db->tentative)
		log_warning("dropping database '%s' as it does not exist "
		    "anymore or inactive auto-database", db->name);
	broker_kill_database(&app->ss, db);
	catalog_drop_database(app->catalog, db);
}

void upkeep_database(struct app *app, struct database *db, usec_t now)
{
	/* what is of parts goes with them */
	if (db->console || db->is_part)
		return;
	if (!db->tentative)
		make_minimum_pool(app, db, now);
	if (db->own == NULL || db->paused || db->share.ledger != NULL)
		return;
	if (is_abandoned(app, db, now))
		upkeep_drop_database(app, db);
	else if (db->unused_since != 0)
		wheel_hasten(&db->wheel, due_after(db->unused_since,
		    app->config->set.autodb_idle_timeout));
}
