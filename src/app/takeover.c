/* takeover.c - online restart: a running process hands us its sockets.
 * SPDX-License-Identifier: ISC */
#include "app/takeover.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "app/app.h"
#include "app/daemon.h"
#include "app/listener.h"
#include "app/takeover_talk.h"
#include "app/workers.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/socket.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "session/client.h"
#include "session/roam.h"
#include "session/server.h"
#include "transfer/snapshot.h"
#include "transfer/suspension.h"

/*
 * Of the abstract namespace: what we hold ends with us, however we end, and
 * leaves no file. Its name is made of the file that all of us have to go
 * through.
 */
static bool name_it(const char *path, char *name, size_t size)
{
	struct stat st;

	return stat(path, &st) == 0 && snprintf(name, size,
	    "@pgsluice/takeover/%ju/%jx/%ju", (uintmax_t)geteuid(),
	    (uintmax_t)st.st_dev, (uintmax_t)st.st_ino) < (int)size;
}

/* Anybody may have the name; it means something if one of us has. */
static bool takeover_is_held(const char *name)
{
	struct err ignored;
	const int fd = socket_connect_unix(name, &ignored);

	if (fd < 0)
		return false;
	const bool ours = socket_peer_is_ours(fd, name, &ignored) == 0;

	close(fd);
	return ours;
}

int turnstile_enter(const char *path, int *fd, struct err *e)
{
	static const struct socket_listen o = { .backlog = 16 };
	char name[SOCKET_PATH_MAX];
	struct err ignored;

	*fd = -1;
	if (!name_it(path, name, sizeof name))
		return 0;
	*fd = socket_listen_unix(name, &o, &ignored);
	if (*fd >= 0 || !takeover_is_held(name))
		return 0;
	return err_set(e, ERRCODE_OBJECT_IN_USE,
	    "another process is about to do so");
}

#define PIDFILE_TIME (2 * USEC)	/* in which it takes its pid file away */
#define SLACK_SECONDS 10	/* on top of what the flush may take */

/* A row of SHOW FDS, and what became of it. */
struct row {
	struct row *next;
	int fd;			/* ours; -1 = taken */
	uint8_t *body;		/* owned: the DataRow */
	size_t len;
	int64_t there, link;	/* numbers of the descriptors, there */
	struct client *client;	/* the row was made into this, or */
	struct server *server;	/* neither */
};

struct takeover {
	struct talk talk;
	int turnstile;		/* nobody else does so; -1: not held */
	struct row *rows;	/* LL list, owned */
	struct row *last;
	size_t count;		/* rows */
	usec_t told;		/* when the old process was told to end */
	usec_t ended;		/* when its connection was found ended; 0 */
	bool is_late;		/* that took too long, and is told */
};

static void row_free(struct row *r)
{
	if (r->fd >= 0)
		close(r->fd);
	secret_wipe(r->body, r->len);
	mem_free(r->body);
	mem_free(r);
}

static void free_rows(struct takeover *t)
{
	struct row *r, *next;

	LL_FOREACH_SAFE(t->rows, r, next)
		row_free(r);
	t->rows = t->last = NULL;
}

static void leave_turnstile(struct takeover *t)
{
	if (t->turnstile >= 0)
		close(t->turnstile);
	t->turnstile = -1;
}

void takeover_free(struct takeover **tp)
{
	struct takeover *const t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	free_rows(t);
	talk_fini(&t->talk);
	leave_turnstile(t);
	mem_free(t);
}

/* --- getting them --- */

static int keep_row(struct takeover *t, const struct talk_message *m,
    struct err *e)
{
	struct row *const r = mem_zalloc(sizeof *r);

	if (r == NULL)
		return err_nomem(e);
	r->fd = talk_take_fd(&t->talk);
	r->body = mem_alloc(m->len + 1);
	r->len = m->len;
	if (t->last == NULL)
		t->rows = r;
	else
		t->last->next = r;
	t->last = r;
	t->count++;
	if (r->body == NULL)
		return err_nomem(e);
	memcpy(r->body, m->body, m->len);
	if (r->fd < 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "a socket came without its descriptor");
	return 0;
}

static int get_rows(struct takeover *t, struct err *e)
{
	struct talk_message m;

	if (talk_ask(&t->talk, "SHOW FDS;", e) < 0)
		return -1;
	for (;;) {
		if (talk_next(&t->talk, &m, e) < 0)
			return -1;
		if (m.type == BE_READY_FOR_QUERY)
			break;
		if (m.type == BE_ROW_DESCRIPTION &&
		    talk_learn_columns(&t->talk, &m, e) < 0)
			return -1;
		if (m.type == BE_DATA_ROW && keep_row(t, &m, e) < 0)
			return -1;
	}
	return t->rows != NULL ? 0 : err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "no sockets came");
}

struct takeover *takeover_begin(const char *path, struct err *e)
{
	struct takeover *t = mem_zalloc(sizeof *t);

	if (t == NULL) {
		err_nomem(e);
		return NULL;
	}
	t->talk.sock = t->talk.pidfd = -1;
	if (turnstile_enter(path, &t->turnstile, e) == 0 &&
	    talk_open(&t->talk, path, e) == 0 && talk_login(&t->talk, e) == 0)
		return t;
	takeover_free(&t);
	return NULL;
}

pid_t takeover_pid(const struct takeover *t)
{
	return t->talk.pid;
}

int takeover_get(struct takeover *t, const struct app *app, struct err *e)
{
	const usec_t limit = app->config->set.suspend_timeout;
	const int seconds = limit > 0 ? (int)(limit / USEC) + SLACK_SECONDS :
	    0;

	/* without a limit its sessions may take as long as they like */
	if (talk_limit(&t->talk, seconds, e) < 0 ||
	    talk_command(&t->talk, "SUSPEND;", e) < 0 ||
	    talk_limit(&t->talk, SLACK_SECONDS, e) < 0)
		return -1;
	return get_rows(t, e);
}

/* --- making them ours --- */

static int restore_listener(struct app *app, struct row *r, struct err *e)
{
	char name[SOCKET_PATH_MAX + sizeof "unix:"];
	const struct listener *l;
	const int fd = r->fd;

	r->fd = -1;
	if (listener_adopt(app, fd, e) < 0)
		return -1;
	LL_FOREACH(app->listeners, l) {
		if (l->next == NULL)
			log_info("got pooler socket: %s", listener_name(l,
			    name, sizeof name));
	}
	return 0;
}

/* Servers will ask for what the users of p have proved to know. */
static void learn_secrets(const struct catalog *cat, struct pool *p,
    const struct talk_row *row)
{
	const char *const password = talk_value(row, TALK_PASSWORD);
	uint8_t key[SHA256_BYTES];

	/* only the server knows the user: its auth_query has told this */
	if (password != NULL && catalog_pool_credentials(cat, p) == NULL) {
		struct credentials *fresh = credentials_new(password);

		if (fresh != NULL)
			catalog_learn_credentials(p, fresh);
		credentials_unref(&fresh);
	}
	struct credentials *const c = catalog_pool_credentials(cat, p);

	/* a key is compared with the verifier, which has to be there */
	if (c != NULL && c->kind == SECRET_SCRAM &&
	    credentials_verifier(c, 0) != NULL &&
	    talk_bytes(row, TALK_CLIENT_KEY, key, sizeof key) == sizeof key)
		credentials_learn(c, key);
	secret_wipe(key, sizeof key);
}

static int no_state(struct err *e)
{
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "the running process can't tell the state of its sessions");
}

/* A session that has no place here is dropped: 0 then too. */
static int restore_session(struct app *app, struct row *r,
    const struct talk_row *row, struct err *e)
{
	struct snapshot h = {
		.fd = r->fd,
		.user = talk_value(row, TALK_USER),
		.database = talk_value(row, TALK_DATABASE),
	};
	uint8_t *state;

	if (h.user == NULL || h.database == NULL)
		return no_state(e);
	struct app *const home = workers_home(app, h.database);

	state = talk_heap_bytes(row, TALK_STATE, &h.len);
	if (state == NULL)
		return no_state(e);
	h.state = state;
	r->fd = -1;
	e->text[0] = '\0';
	if (strcmp(talk_value(row, TALK_TASK), "client") == 0)
		r->client = snapshot_read_client(&home->ss, &h, e);
	else
		r->server = snapshot_read_server(&home->ss, &h, e);
	secret_wipe(state, h.len);
	mem_free(state);
	if (r->client != NULL || r->server != NULL) {
		learn_secrets(home->catalog, r->client != NULL ?
		    r->client->pc.pool : r->server->ps.pool, row);
		return 0;
	}
	if (e->text[0] != '\0')
		return -1;
	log_warning("no place for a %s of user %s, database %s",
	    talk_value(row, TALK_TASK), h.user, h.database);
	return 0;
}

static int restore_row(struct takeover *t, struct app *app, struct row *r,
    struct err *e)
{
	struct talk_row row;

	if (talk_parse_row(&t->talk, r->body, r->len, &row) < 0 ||
	    talk_value(&row, TALK_TASK) == NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "a row of SHOW FDS is broken");
	r->there = talk_number(&row, TALK_FD);
	r->link = talk_number(&row, TALK_LINK);
	if (strcmp(talk_value(&row, TALK_TASK), "pooler") == 0)
		return restore_listener(app, r, e);
	return restore_session(app, r, &row, e);
}

static struct row *takeover_find_row(const struct takeover *t, int64_t there)
{
	struct row *r;

	LL_SEARCH_SCALAR(t->rows, r, there, there);
	return r;
}

/* A pair of which one has no place here is of no use. */
static void drop_half(struct row *r)
{
	struct client *const c = r->client;
	struct server *const s = r->server;

	r->client = NULL;
	r->server = NULL;
	if (c != NULL) {
		c->stream.broken = true;
		client_close(c, CLOSE_CONFIGURATION_CHANGED);
	}
	if (s != NULL) {
		s->stream.broken = true;
		server_close(s, CLOSE_CONFIGURATION_CHANGED);
	}
}

static void link_rows(const struct takeover *t)
{
	struct row *r;

	LL_FOREACH(t->rows, r) {
		struct row *const other = r->link == 0 ? NULL :
		    takeover_find_row(t, r->link);

		if (r->link == 0 || (r->client == NULL && r->server == NULL))
			continue;
		if (other == NULL ||
		    (other->client == NULL && other->server == NULL))
			drop_half(r);
		else if (r->client != NULL && other->server != NULL)
			snapshot_link(r->client, other->server);
	}
}

/* --- what several workers need to know of it --- */

/* The keys that clients have name a worker of the other process. */
static int carry_keys(const struct takeover *t, struct app *app, struct err *e)
{
	const struct row *r;

	app->carried = carried_new(t->count);
	if (app->carried == NULL)
		return err_nomem(e);
	LL_FOREACH(t->rows, r) {
		if (r->client != NULL && r->client->hh.tbl != NULL)
			carried_add(app->carried, r->client->key,
			    r->client->ss->worker);
	}
	for (struct app *w = app; w != NULL; w = workers_next(w))
		w->ss.carried = app->carried;
	return 0;
}

/* The next process may put all their statements together. */
static void skip_names(struct app *app)
{
	uint64_t last = 0, last_unnamed = 0;

	for (const struct app *w = app; w != NULL; w = workers_next(w)) {
		const uint64_t own = prepared_last(w->ss.prepared);

		last = own > last ? own : last;
		last_unnamed = w->ss.last_unnamed > last_unnamed ?
		    w->ss.last_unnamed : last_unnamed;
	}
	for (struct app *w = app; w != NULL; w = workers_next(w)) {
		prepared_skip(w->ss.prepared, last);
		sessions_skip_unnamed(&w->ss, last_unnamed);
	}
}

int takeover_restore(struct takeover *t, struct app *app, struct err *e)
{
	struct row *r;

	/* what ends us now must leave the others' files alone */
	for (struct app *w = app; w != NULL; w = workers_next(w))
		w->ss.suspended = true;
	LL_FOREACH(t->rows, r) {
		if (restore_row(t, app, r, e) < 0)
			return err_prepend(e, "cannot take over: ");
	}
	link_rows(t);
	if (app->workers == NULL)
		return 0;
	skip_names(app);
	return carry_keys(t, app, e);
}

/* --- the end of the other --- */

/*
 * The way back ends here, with one word: it goes on if that does not reach it,
 * and we do if it does. One that has been stopped since it stands still would
 * hear it late, so: does it answer? One that has ended was not told anything,
 * but nobody else has its sessions now.
 */
static int tell_to_end(struct takeover *t, struct err *e)
{
	if (talk_limit(&t->talk, SLACK_SECONDS, e) == 0 &&
	    talk_command(&t->talk, "SHOW VERSION;", e) == 0 &&
	    talk_ask(&t->talk, "SHUTDOWN;", e) == 0)
		return 0;
	if (!talk_is_orphaned(&t->talk))
		return -1;
	log_warning("the old process (%ld) has ended by itself; its sessions were "
	    "taken over", (long)t->talk.pid);
	return 0;
}

int takeover_finish(struct takeover **tp, struct app *app, struct err *e)
{
	struct takeover *const t = *tp;
	struct row *r;

	if (tell_to_end(t, e) < 0)
		return err_prepend(e, "cannot take over: ");
	listener_claim_all(app);
	for (struct app *w = app; w != NULL; w = workers_next(w)) {
		w->ss.suspended = false;
		suspension_end(&w->ss);
	}
	LL_FOREACH(t->rows, r) {
		if (r->client != NULL && client_is_open(r->client))
			snapshot_go_on(r->client);
	}
	free_rows(t);
	leave_turnstile(t);
	t->told = time_now();
	app->takeover = t;
	*tp = NULL;
	return 0;
}

/*
 * The old process stands still until it hears what it was told: whatever keeps
 * it from that, it does nothing else any more, and is no concern of our
 * clients.
 */
static void note_silence(struct takeover *t, struct app *app, usec_t now)
{
	if (t->is_late || now - t->told <= SLACK_SECONDS * USEC)
		return;
	t->is_late = true;
	log_warning("the old process (%ld) was asked to end, and has not ended: "
	    "is it stopped?", (long)t->talk.pid);
	ready_tell(app);
}

void takeover_tick(struct app *app, usec_t now)
{
	struct takeover *const t = app->takeover;

	if (t == NULL)
		return;
	if (t->ended == 0 && talk_is_over(&t->talk))
		t->ended = now;
	if (t->ended == 0) {
		note_silence(t, app, now);
		return;
	}
	if (now - t->ended < PIDFILE_TIME &&
	    pidfile_names(app->config->set.pidfile, t->talk.pid))
		return;
	ready_take_pidfile(app);
	if (!t->is_late)
		ready_tell(app);
	takeover_free(&app->takeover);
}
