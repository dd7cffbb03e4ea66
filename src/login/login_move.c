/* login_move.c - a client goes to another worker: to log in, and to its
 * database.
 * SPDX-License-Identifier: ISC */
#include "login/login_move.h"

#include <string.h>

#include "base/err.h"
#include "io/tls.h"
#include "login/login_lobby.h"
#include "login/login_parts.h"
#include "pool/catalog.h"
#include "pool/lobby.h"
#include "pool/parts.h"
#include "pool/users.h"
#include "proto/params.h"
#include "proto/startup.h"
#include "session/client.h"
#include "session/roam.h"
#include "session/sessions.h"
#include "upstream/tls_setup.h"

/* --- where to --- */

struct names {
	const char *database, *user;	/* NULL: not there */
	bool replication;
};

static int note_name(const char *name, const char *value, void *arg,
    struct err *e)
{
	struct names *const n = arg;

	(void)e;
	if (strcmp(name, "database") == 0)
		n->database = value;
	else if (strcmp(name, "user") == 0)
		n->user = value;
	else if (strcmp(name, "replication") == 0)
		n->replication = true;
	return 0;
}

/* The database is NULL: there is none, or m is wrong. */
static struct names names_of(const struct startup *m)
{
	struct names n = { NULL, NULL, false };
	struct err e;

	if (startup_each(m, note_name, &n, &e) < 0)
		return (struct names){ NULL, NULL, false };
	if (n.database == NULL || n.database[0] == '\0')
		n.database = n.user;
	return n;
}

static const char *database_of(const struct startup *m)
{
	return names_of(m).database;
}

/* Where is the client of a key that another process gave? -1: it is ours. */
static int find_carried(const struct sessions *ss, const uint8_t *key)
{
	uint8_t whole[CANCEL_KEY_BYTES];
	const int worker = carried_find(ss->carried, key);

	if (worker >= 0 || sessions_settings(ss)->peer_id <= 0)
		return worker;
	/* a peer may have passed it on */
	memcpy(whole, key, sizeof whole);
	cancel_key_restore(whole);
	return carried_find(ss->carried, whole);
}

/* Is m to cancel what a client runs that has moved? Where is that? */
static struct roam_place find_roamer(struct sessions *ss,
    const struct startup *m)
{
	const struct roam_place nowhere = { -1, false };
	uint8_t whole[CANCEL_KEY_BYTES];

	if (m->kind != STARTUP_CANCEL || m->body_len < CANCEL_KEY_BYTES)
		return nowhere;
	const struct roam_place place = roam_find(ss, m->body);

	if (place.worker >= 0 || sessions_settings(ss)->peer_id <= 0)
		return place;
	memcpy(whole, m->body, sizeof whole);
	cancel_key_restore(whole);
	return roam_find(ss, whole);
}

/* It may look so by chance, if it was given before the peers were known. */
static bool is_of_peer(const struct sessions *ss, const uint8_t *key)
{
	const int own = sessions_settings(ss)->peer_id;
	const int id = cancel_key_peer(key);

	return own > 0 && id != own &&
	    config_find_peer(ss->catalog->config, id) != NULL;
}

/* Peers are the first worker's; what has no key stays with this one. */
static unsigned home_of_key(const struct sessions *ss, const struct startup *m)
{
	if (m->body_len < CANCEL_KEY_BYTES)
		return ss->worker;
	const int carried = find_carried(ss, m->body);

	if (carried >= 0)
		return (unsigned)carried;
	if (is_of_peer(ss, m->body))
		return 0;
	const unsigned worker = cancel_key_worker(m->body);

	return worker <= ss->others ? worker : ss->worker;
}

/* --- going --- */

/*
 * Out of all that is this worker's; the socket, what is unread and the place in
 * the lobby stay.
 */
static void login_move_leave(struct client *c)
{
	struct sessions *const ss = c->ss;

	if (c->db != NULL) {
		database_count_client(c->db, -1);
		c->db->logins--;
		c->db = NULL;
	}
	timeout_stop(&c->timer);
	params_unref(&c->params);
	cursor_list_remove(&ss->all_clients, &c->node);
	ss->logins--;
	catalog_count_client(ss->catalog, -1);
	tls_leave(&c->stream);
	stream_leave(&c->stream);
	c->ss = NULL;
}

/* False: its place is another's by now, and it will be closed here. */
static bool go(struct client *c, unsigned to)
{
	struct sessions *const ss = c->ss;

	if (!lobby_send(&ss->lobby, &c->login->guest, to))
		return false;
	login_move_leave(c);
	ss->client_ops.send(ss->app, c, to);
	return true;
}

static void depart(struct client *c)
{
	struct sessions *const ss = c->ss;
	const unsigned to = c->login->to;

	if (ss->client_ops.may_send(ss->app, to))
		(void)go(c, to);
	else	/* a worker that hangs takes none for long */
		login_queue_put_off(&ss->login_queue, c->login);
}

/* The console is never full. */
static int claim_room(struct client *c, const struct startup *m, struct err *e)
{
	const char *const database = m->kind == STARTUP_MESSAGE ?
	    database_of(m) : NULL;

	return database == NULL || catalog_is_console(database) ? 0 :
	    login_claim_room(c, e);
}

static unsigned home(const struct sessions *ss, const struct startup *m)
{
	if (m->kind == STARTUP_CANCEL)
		return home_of_key(ss, m);
	const char *const database = database_of(m);

	/* a client whose message is wrong is told so by this worker */
	return database == NULL ? ss->worker :
	    catalog_home(ss->catalog, database);
}

/* The pool that has n here, if it has one. */
static struct pool *pool_of(struct catalog *c, const struct names *n)
{
	struct database *const db = catalog_find_database(c, n->database);
	const char *const user = db == NULL ? NULL :
	    db->conf->user != NULL ? db->conf->user : n->user;
	struct user *const u = user == NULL ? NULL :
	    catalog_find_user(c, user);

	return u == NULL ? NULL : catalog_find_pool(c, db, u);
}

/* May it be that auth_query is asked for that user? That is done at home. */
static bool may_be_asked_for(const struct catalog *c, const struct pool *p,
    const char *user)
{
	const char *const own = p->key.db->conf->auth_user;
	const char *const global = c->config->set.auth_user;

	return ((own != NULL && own[0] != '\0') ||
	    (global != NULL && global[0] != '\0')) &&
	    (user == NULL || !users_has_listed(c, user));
}

/*
 * The pool of c, which has come home, may have parts elsewhere. A part that c is
 * sent to may be gone when it comes there: then it goes home, for good.
 */
static unsigned login_move_place(struct client *c, const struct startup *m,
    unsigned home)
{
	struct sessions *const ss = c->ss;
	const struct names n = m->kind == STARTUP_MESSAGE ? names_of(m) :
	    (struct names){ NULL, NULL, false };

	if (n.database == NULL || catalog_is_console(n.database))
		return home;
	struct pool *const p = pool_of(ss->catalog, &n);

	if (home != ss->worker)
		return p != NULL && p->is_part ? ss->worker : home;
	if (c->login->placed || p == NULL || p->parts.open == 0 ||
	    n.replication || may_be_asked_for(ss->catalog, p, n.user))
		return home;
	c->login->placed = true;
	return parts_choose(p, home);
}

unsigned login_part(struct client *c)
{
	struct login *const l = c->login;
	const unsigned here = c->ss->worker;
	const struct names n = { l->db_name, l->user, false };
	struct pool *const p = c->db == NULL || c->db->is_part ? NULL :
	    pool_of(c->ss->catalog, &n);

	if (p == NULL || p->parts.open == 0 || l->placed ||
	    c->has_reserve_fd || c->replication != REPLICATION_NONE)
		return here;
	l->placed = true;
	return parts_choose(p, here);
}

bool login_has_no_part(const struct client *c)
{
	const struct login *const l = c->login;
	const struct names n = { l->db_name,
		l->query.name != NULL ? l->query.name : l->user, false };

	return l->placed &&
	    catalog_home(c->ss->catalog, l->db_name) != c->ss->worker &&
	    pool_of(c->ss->catalog, &n) == NULL;
}

static void send_off(struct client *c, unsigned to)
{
	struct login *const l = c->login;

	l->to = (uint8_t)to;
	l->work = depart;
	stream_pause(&c->stream);
	login_queue_add(&c->ss->login_queue, l);
}

void login_travel(struct client *c, unsigned to,
    void (*landed)(struct client *c))
{
	c->login->query.errand->landed = landed;
	send_off(c, to);
}

/* A request follows the client that it is meant for. */
static bool request_departs(struct client *c, const struct startup *m)
{
	struct sessions *const ss = c->ss;
	struct login *const l = c->login;
	const struct roam_place at = find_roamer(ss, m);

	if (l->arrived && at.worker < 0)
		return false;
	const unsigned to = at.worker >= 0 ? (unsigned)at.worker :
	    home_of_key(ss, m);

	/* whoever is in our mail is here when this has come again */
	if (to == ss->worker && !at.is_mailed)
		return false;
	l->arrived = true;
	send_off(c, to);
	return true;
}

bool login_departs(struct client *c, const struct startup *m)
{
	struct sessions *const ss = c->ss;
	struct login *const l = c->login;
	struct err e;

	if (ss->others == 0 || c->has_reserve_fd)
		return false;
	if (m->kind == STARTUP_CANCEL)
		return request_departs(c, m);
	const unsigned at_home = l->arrived && !l->placed ? ss->worker :
	    home(ss, m);
	const unsigned to = at_home != ss->worker && !l->placed ? at_home :
	    login_move_place(c, m, at_home);

	if (to == ss->worker)
		return false;
	if (!l->arrived && claim_room(c, m, &e) < 0) {
		client_fail_cause(c, close_cause_err(CLOSE_LOGIN_REFUSED, &e));
		return true;
	}
	l->arrived = true;
	send_off(c, to);
	return true;
}

bool login_deal(struct client *c)
{
	struct sessions *const ss = c->ss;

	if (ss->others == 0 || c->has_reserve_fd)
		return false;
	const unsigned to = lobby_emptiest(&ss->lobby);

	return to != ss->worker && ss->client_ops.takes(ss->app, to) &&
	    go(c, to);
}

/* SUSPEND may have come, or been lifted, while c was on its way. */
static void login_move_go_on(struct client *c)
{
	const struct auth_errand *const errand = c->login->query.errand;

	if (c->ss->still)
		stream_suspend(&c->stream);
	else
		stream_unsuspend(&c->stream);
	if (errand != NULL)
		errand->landed(c);
	else
		stream_resume(&c->stream);
}

void login_arrive(struct sessions *ss, struct client *c)
{
	struct login *const l = c->login;

	c->ss = ss;
	c->id = sessions_next_id(ss);
	c->params = params_empty(ss->params);
	cursor_list_add(&ss->all_clients, &c->node);
	catalog_count_client(ss->catalog, 1);
	ss->logins++;
	l->work = login_work;
	timeout_resume(c->role->time_out(ss), &c->timer);
	if (stream_join(&c->stream, ss->loop) < 0 || c->params == NULL ||
	    tls_join(&c->stream, ss->tls->client) < 0)
		client_close(c, CLOSE_NO_MEMORY_FOR_A_LOGIN);
	else if (login_enter_from_other(c))
		login_move_go_on(c);
}
