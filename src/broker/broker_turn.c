/* broker_turn.c - the end of a turn: clients served, servers opened and closed.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/log.h"
#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "broker/canceler.h"
#include "io/dns.h"
#include "login/peer.h"
#include "notify/listener.h"
#include "pool/hosts.h"
#include "pool/limit.h"
#include "pool/pool.h"
#include "relay/replication.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_launch.h"

#define AT_ONCE 8		/* pools, between two looks at the clock */
#define SLICE (USEC / 1000)	/* of a turn */

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
		    !p->check_failed &&
		    time_now() - s->ps.used < p->limits.check_delay;

		if (fresh || !p->limits.check) {
			pool_server_set(&s->ps, SERVER_IDLE);
			broker_serve(ss, p);
			waiting = p->client_count[CLIENT_WAITING];
			continue;
		}
		pool_server_set(&s->ps, SERVER_TESTED);
		(void)server_send_query(s, query, OWN_QUERY_CHECK);
	}
}

/* Under a limit that is reached, the next slot may be another pool's. */
static bool has_turn(struct sessions *ss, struct pool *p)
{
	struct pool *heir = limit_heir(p, ss->catalog, time_now());

	if (heir != NULL)
		broker_touch(ss, heir);
	return heir == NULL && !broker_is_rival_first(ss, p);
}

static void broker_turn_launch(struct sessions *ss, struct pool *p)
{
	bool reserve, done = false;

	while (pool_wanted(p, time_now(), &reserve) > 0) {
		if (!has_turn(ss, p) ||
		    !server_launch_room(p, NULL, &reserve)) {
			broker_ask_others(ss, p);
			break;
		}
		if (reserve)
			log_at(LEVEL_WARNING, &client_of(
			    p->clients[CLIENT_WAITING])->who,
			    "taking connection from reserve_pool");
		server_launch(ss, p);
		done = true;
	}
	/* it is at its size, but another part of it may have one to spare */
	if (p->share.ledger != NULL && pool_could_launch(p, time_now()))
		broker_ask_others(ss, p);
	if (!done)
		return;
	broker_touch_next(ss, p);
	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct limit_share *const s = limit_share_of(p,
		    (enum limit_kind)kind);

		if (s->ledger != NULL)
			broker_called(ss, s);
	}
}

static void launch_dedicated(struct sessions *ss, struct pool *p)
{
	if (has_turn(ss, p))
		replication_launch(p);
	if (pool_pick_dedicated(p, time_now()) != NULL)
		broker_ask_others(ss, p);
}

/*
 * An auth_query waits, and there are none but servers that clients have had:
 * open another one, in place of one of them where there is no room.
 */
static void open_clean(struct sessions *ss, struct pool *p)
{
	struct pool_server *lent = clean_pick_lent(p), *victim;
	const bool room = (p->limits.size <= 0 ||
	    pool_held(p) < (unsigned)p->limits.size) &&
	    limit_check(p, time_now(), &victim) == LIMIT_FREE;

	if (lent == NULL || !clean_is_wanted(p, time_now()))
		return;
	if (!p->lent_told)
		log_warning("auth_user \"%s\" also serves clients of database "
		    "\"%s\", which can change what auth_query reads: use a role "
		    "that no client uses",
		    p->key.user->name, p->key.db->name);
	p->lent_told = true;
	if (!room)
		server_close(server_of(lent), CLOSE_LENT_TO_CLIENT);
	server_launch(ss, p);
	broker_serve(ss, p);
}

static void close_list(struct pool *p, enum server_state state,
    enum close_reason why)
{
	while (p->servers[state] != NULL)
		server_close(server_of(p->servers[state]), why);
}

/* PAUSE: servers that no client has go. */
static void close_unlinked(struct pool *p)
{
	close_list(p, SERVER_IDLE, CLOSE_PAUSE_MODE);
	close_list(p, SERVER_USED, CLOSE_PAUSE_MODE);
	close_list(p, SERVER_LOGIN, CLOSE_PAUSE_MODE);
	close_list(p, SERVER_LISTENING, CLOSE_PAUSE_MODE);
	replication_drop_logins(p, CLOSE_PAUSE_MODE);
}

/* A pause goes on, except for the login of an administrator. */
static void look_at_paused(struct sessions *ss, struct pool *p)
{
	bool reserve;

	if (p->urgent == 0) {
		close_unlinked(p);
		return;
	}
	if (ss->still)
		return;
	broker_serve(ss, p);
	if (clean_is_wanted(p, time_now()) && p->urgent > 0 &&
	    server_launch_room(p, NULL, &reserve))
		server_launch(ss, p);
}

static void broker_turn_look_at(struct sessions *ss, struct pool *p)
{
	if (p->key.db->console)
		return;
	if (p->peer_id != 0) {
		peer_launch(ss, p);
		return;
	}
	if (!ss->cancels_held)
		canceler_launch(p);
	listener_turn(ss, p);
	if (ss->shutdown == SHUTDOWN_WAIT_FOR_SERVERS) {
		const struct close_cause why =
		    close_cause(CLOSE_SERVER_SHUTTING_DOWN);

		broker_fail_all(p, CLIENT_WAITING, why);
		broker_fail_all(p, CLIENT_WELCOME, why);
		broker_fail_all(p, CLIENT_DEDICATED_WAITING, why);
	}
	if (pool_is_paused(p, ss->catalog)) {
		look_at_paused(ss, p);
		return;
	}
	if (p->share.ledger != NULL || ss->forced)
		broker_send_off(ss, p);
	broker_welcome_all(p);
	/* suspended: only a login still wants a server */
	if (ss->still || (ss->suspended && ss->logins == 0))
		return;
	broker_serve(ss, p);
	check_used(ss, p);
	if (drain_stops(ss->catalog, p, time_now()))
		return;
	if (p->limits.max_db > 0 || p->limits.max_user > 0 ||
	    p->share.ledger != NULL)
		broker_join_limits(ss, p);
	if (p->lookups > 0)
		open_clean(ss, p);
	if (p->clients[CLIENT_DEDICATED_WAITING] != NULL)
		launch_dedicated(ss, p);
	broker_turn_launch(ss, p);
}

static void broker_turn_wake(struct loop_task *t)
{
	(void)t;
}

/* All pools may be touched at once: what is left has the next turn. */
void broker_turn(struct sessions *ss)
{
	struct pool *p;
	usec_t end = 0;

	for (unsigned n = 0; (p = catalog_take_touched(ss->catalog)) != NULL;
	    n++) {
		broker_turn_look_at(ss, p);
		if (n % AT_ONCE != AT_ONCE - 1)
			continue;
		if (end == 0) {
			end = time_precise() + SLICE;
		} else if (time_precise() >= end) {
			ss->broker_task.run = broker_turn_wake;
			loop_again(ss->loop, &ss->broker_task);
			return;
		}
	}
}

/* --- what the console and the configuration ask for --- */

static void mark(struct pool *p, enum server_state state)
{
	for (struct pool_server *ps = p->servers[state]; ps; ps = ps->next)
		ps->close_needed = true;
}

void broker_drain(struct sessions *ss, const struct database *db)
{
	for (struct pool *p = ss->catalog->pools; p; p = p->hh.next) {
		if (!p->key.db->console && (db == NULL || p->key.db == db))
			mark(p, SERVER_ACTIVE);
	}
}

/* Is s at a drained host, or may it be on its way there? */
static bool is_at_drained(const struct sessions *ss, const struct server *s)
{
	return s->phase == SERVER_PHASE_CONNECT ||
	    drain_has(ss->catalog, s->host.text, &s->addr);
}

static void drain_list(struct sessions *ss, struct pool *p,
    enum server_state state)
{
	struct pool_server *ps, *next;

	DL_FOREACH_SAFE(p->servers[state], ps, next) {
		struct server *const s = server_of(ps);

		if (!is_at_drained(ss, s))
			continue;
		if (state == SERVER_ACTIVE || state == SERVER_TESTED ||
		    state == SERVER_BEING_CANCELED) {
			ps->close_needed = true;
			continue;
		}
		/* the client waits for another server */
		if (ps->dedicated && !server_is_introduced(s))
			pool_unlink(ps->client);
		server_close(s, CLOSE_HOST_IS_BEING_DRAINED);
	}
}

void broker_drain_hosts(struct sessions *ss)
{
	for (struct pool *p = ss->catalog->pools; p; p = p->hh.next) {
		if (p->key.db->console || p->key.db->conf->host == NULL)
			continue;
		for (int state = 0; state < SERVER_ACTIVE_CANCEL; state++)
			drain_list(ss, p, (enum server_state)state);
		drain_list(ss, p, SERVER_DEDICATED_LOGIN);
		drain_list(ss, p, SERVER_LISTENING);
		pool_recheck(p);
		broker_touch(ss, p);
	}
}

void broker_reconnect_pool(struct sessions *ss, struct pool *p)
{
	pool_drop_welcome(p);
	p->old_protocol = false;
	p->drained_at = 0;
	pool_retry_now(p);
	close_list(p, SERVER_LOGIN, CLOSE_CONNECT_STRING_CHANGED);
	replication_drop_logins(p, CLOSE_CONNECT_STRING_CHANGED);
	close_list(p, SERVER_IDLE, CLOSE_CONFIGURATION_CHANGED);
	close_list(p, SERVER_USED, CLOSE_CONFIGURATION_CHANGED);
	listener_renew(p);
	mark(p, SERVER_ACTIVE);
	mark(p, SERVER_TESTED);
	mark(p, SERVER_BEING_CANCELED);
	pool_recheck(p);
	broker_touch(ss, p);
}

void broker_reconnect(struct sessions *ss, struct database *db)
{
	for (struct pool *p = db->pools; p != NULL; p = p->db_next)
		broker_reconnect_pool(ss, p);
}

/* --- a host has another address --- */

static bool is_at(const struct server *s, const struct net_addr *addr)
{
	struct net_addr at = s->addr;

	at.port = addr->port;
	return net_equal(&at, addr);
}

static void broker_turn_retire(struct pool *p, const struct net_addr *addr)
{
	static const enum close_reason why[SERVER_STATES] = {
		[SERVER_LOGIN] = CLOSE_CONNECT_STRING_CHANGED,
		[SERVER_IDLE] = CLOSE_CONFIGURATION_CHANGED,
		[SERVER_USED] = CLOSE_CONFIGURATION_CHANGED,
	};
	struct pool_server *ps, *next;

	pool_recheck(p);
	for (int state = 0; state < SERVER_GONE; state++) {
		DL_FOREACH_SAFE(p->servers[state], ps, next) {
			if (!is_at(server_of(ps), addr))
				continue;
			ps->close_needed = true;
			if (why[state] != CLOSE_NONE)
				server_close(server_of(ps), why[state]);
		}
	}
}

void broker_address_lost(struct sessions *ss, const char *host,
    const struct net_addr *addr)
{
	for (struct pool *p = ss->catalog->pools; p != NULL; p = p->hh.next) {
		const char *const own = p->key.db->conf->host;

		if (own == NULL || strcmp(own, host) != 0)
			continue;
		broker_turn_retire(p, addr);
		/* who listens there is to be replaced */
		broker_touch(ss, p);
	}
}

/* Not clients that brought a cancel request: they are told nothing, ever. */
static void fail_clients(struct pool *p, enum close_reason why)
{
	for (int i = CLIENT_ACTIVE; i < CLIENT_CANCEL_WAITING; i++)
		broker_fail_all(p, (enum client_state)i, close_cause(why));
}

void broker_fail_clients(struct sessions *ss, enum close_reason why)
{
	for (struct pool *p = ss->catalog->pools; p != NULL; p = p->hh.next)
		fail_clients(p, why);
}

void broker_kill_pool(struct sessions *ss, struct pool *p)
{
	const enum close_reason why = CLOSE_DATABASE_REMOVED;

	fail_clients(p, why);
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
		struct client *c = container_of(t, struct client, timer);

		next = t->next;
		if (c->db == db)
			client_fail(c, CLOSE_DATABASE_REMOVED);
	}
	while (db->pools != NULL)
		broker_kill_pool(ss, db->pools);
}

void broker_pause_changed(struct sessions *ss)
{
	for (struct pool *p = ss->catalog->pools; p; p = p->hh.next)
		broker_touch(ss, p);
	catalog_wake_databases(ss->catalog);
}

void broker_retry(struct sessions *ss, const struct database *db)
{
	dns_forget_failures(ss->dns);
	for (struct pool *p = ss->catalog->pools; p != NULL; p = p->hh.next) {
		if (db == NULL || p->key.db == db)
			pool_retry_now(p);
	}
}

static bool has_idle(const struct pool *p)
{
	return p->server_count[SERVER_IDLE] + p->server_count[SERVER_USED] > 0;
}

bool broker_is_quiet(const struct sessions *ss, const struct database *db)
{
	for (const struct pool *p = ss->catalog->pools; p; p = p->hh.next) {
		if (p->key.db->console || (db != NULL && p->key.db != db))
			continue;
		if (p->server_count[SERVER_ACTIVE] > 0 ||
		    p->server_count[SERVER_TESTED] > 0 ||
		    (has_idle(p) && pool_is_paused(p, ss->catalog)))
			return false;
	}
	return true;
}
