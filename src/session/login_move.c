/* login_move.c - a client goes to another worker: to log in, and to its database.
 * SPDX-License-Identifier: ISC */
#include "session/login_move.h"

#include <string.h>

#include "base/err.h"
#include "io/tls.h"
#include "pool/catalog_count.h"
#include "pool/lobby_workers.h"
#include "proto/cancel_key.h"
#include "proto/params.h"
#include "session/carried.h"
#include "session/client.h"
#include "session/login_lobby.h"
#include "session/login_parts.h"
#include "session/sessions.h"
#include "session/tls_setup.h"

/* --- where to --- */

struct names {
	const char *database, *user;	/* NULL: not there */
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
	return 0;
}

/* NULL: there is none, or m is wrong. */
static const char *database_of(const struct startup *m)
{
	struct names n = { NULL, NULL };
	struct err e;

	if (startup_each(m, note_name, &n, &e) < 0)
		return NULL;
	return n.database == NULL || n.database[0] == '\0' ? n.user :
	    n.database;
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
static void leave(struct client *c)
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
	leave(c);
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

bool login_departs(struct client *c, const struct startup *m)
{
	struct sessions *const ss = c->ss;
	struct login *const l = c->login;
	struct err e;

	if (ss->others == 0 || l->arrived || c->has_reserve_fd)
		return false;
	const unsigned to = home(ss, m);

	if (to == ss->worker)
		return false;
	if (claim_room(c, m, &e) < 0) {
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
static void go_on(struct client *c)
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
		go_on(c);
}
