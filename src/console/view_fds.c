/* view_fds.c - SHOW FDS: our sockets, and their way to another process.
 * SPDX-License-Identifier: ISC */
#include "console/view_fds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/net.h"
#include "console/admin.h"
#include "console/console.h"
#include "console/handover.h"
#include "console/selection.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "io/fdpass.h"
#include "pool/credentials.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "session/timers.h"
#include "transfer/snapshot.h"
#include "transfer/suspension.h"

#define STATE_MAX (64 << 20)	/* bytes of the state of one session */
#define PASS_TIME (10 * USEC)	/* that all may take, without suspend_timeout */

/* (spec/admin-console.md section 5.17; the last one is ours) */
#define FDS(X) \
	X(INT4, "fd", PLAIN, cell_number(r->fd)) \
	X(TEXT, "task", PLAIN, cell_text(r->task)) \
	X(TEXT, "user", PLAIN, cell_text(r->user)) \
	X(TEXT, "database", PLAIN, cell_text(r->database)) \
	X(TEXT, "addr", PLAIN, \
	    cell_text(net_format_ip(r->addr, ip, sizeof ip))) \
	X(INT4, "port", PLAIN, cell_number(r->addr->port)) \
	X(INT8, "cancel", PLAIN, \
	    cell_text(cancel_text(r->key, cancel, sizeof cancel))) \
	X(INT4, "link", PLAIN, cell_number(r->link)) \
	X(TEXT, "client_encoding", PLAIN, \
	    cell_text(param(w, r, "client_encoding"))) \
	X(TEXT, "std_strings", PLAIN, \
	    cell_text(param(w, r, "standard_conforming_strings"))) \
	X(TEXT, "datestyle", PLAIN, cell_text(param(w, r, "datestyle"))) \
	X(TEXT, "timezone", PLAIN, cell_text(param(w, r, "timezone"))) \
	/* of users in the auth file it is there, too */ \
	X(TEXT, "password", PLAIN, \
	    cell_text(secret != NULL && secret == r->pool->credentials ? secret->secret : NULL)) \
	X(BYTEA, "scram_client_key", PLAIN, cell_text(client_key)) \
	X(BYTEA, "scram_server_key", PLAIN, cell_text(server_key)) \
	X(BYTEA, "state", EXTENDED, cell_text(state))

static const struct column columns[] = { FDS(VIEW_COLUMN) };

/* Without the last one, which is ours. */
#define PLAIN_COLUMNS (VIEW_COUNT(columns) - 1)

/* By struct view's variant: the kind of reader. */
enum {
	FOR_EYES,		/* numbers only: all there is */
	FOR_STRANGER,		/* descriptors: what is all in the columns */
	FOR_SUCCESSOR,		/* descriptors, with state */
};

/* One walk. */
struct walk {
	const struct admin *a;
	const struct view *view;
	struct row_sink *sink;
	unsigned *left;		/* clients that can't be handed over */
};

/* What a row says, whatever it is about. */
struct socket_row {
	const char *task, *user, *database;
	int fd, link;
	const struct net_addr *addr;
	const uint8_t *key;	/* 8 bytes; NULL: none */
	const struct params *params;
	const struct pool *pool;	/* NULL: none */
	struct writer state;	/* all zero: none */
	const struct log_who *who;	/* the owner's */
};

/* --- one row --- */

/* "\x" and hex, heap; NULL: no memory. */
static char *hex_text(const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *const text = mem_alloc(2 * n + 3);

	if (text == NULL)
		return NULL;
	text[0] = '\\';
	text[1] = 'x';
	for (size_t i = 0; i < n; i++) {
		text[2 + 2 * i] = digits[p[i] >> 4];
		text[3 + 2 * i] = digits[p[i] & 15];
	}
	text[2 + 2 * n] = '\0';
	return text;
}

static const char *cancel_text(const uint8_t *key, char *buf, size_t size)
{
	uint64_t n = 0;

	if (key == NULL)
		return NULL;
	for (int i = 0; i < 8; i++)
		n = n << 8 | key[i];
	snprintf(buf, size, "%" PRIu64, n);
	return buf;
}

static const char *param(const struct walk *w, const struct socket_row *r,
    const char *name)
{
	return r->params == NULL ? NULL : params_get(r->params,
	    params_find(w->a->ss->params, name));
}

/* As text; NULL: there is none, or no room for it. */
static char *state_text(struct socket_row *r)
{
	char *const text = r->state.at == NULL || r->state.failed ? NULL :
	    hex_text(r->state.at, r->state.len);

	writer_fini(&r->state);
	return text;
}

/* The successor does without this session, so that it gets all the others. */
static int view_fds_leave(const struct socket_row *r)
{
	log_at(LEVEL_WARNING, r->who, "cannot be handed over, because its state "
	    "needs more than %d MB, or than the free memory: its session will "
	    "end", STATE_MAX >> 20);
	return 0;
}

static int emit(const struct walk *w, struct socket_row *r)
{
	const bool with_state = r->state.cap > 0;
	char *state = state_text(r);

	if (with_state && state == NULL)
		return view_fds_leave(r);

	const bool shown = w->view->variant != FOR_EYES && r->pool != NULL;
	const struct credentials *const secret = shown ?
	    catalog_pool_credentials(w->a->ss->catalog, r->pool) : NULL;
	const struct scram_keys *const keys = secret == NULL ? NULL :
	    secret->learned;
	char ip[NET_TEXT_MAX], cancel[24];
	char *client_key = NULL, *server_key = NULL;

	if (keys != NULL) {
		client_key = hex_text(keys->client_key, SHA256_BYTES);
		server_key = hex_text(keys->server_key, SHA256_BYTES);
	}
	const int rc = w->sink->row(w->sink, VIEW_ROW(FDS));

	mem_free(state);
	mem_free(client_key);
	mem_free(server_key);
	return rc;
}

static int view_fds_client_row(const struct walk *w, const struct client *c)
{
	const int whom = w->view->variant;
	struct socket_row r = {
		.task = "client",
		.user = c->user != NULL ? c->user->name : NULL,
		.database = c->db != NULL ? c->db->name : NULL,
		.fd = c->stream.fd,
		.link = c->pc.server == NULL ? 0 :
		    server_of(c->pc.server)->stream.fd,
		.addr = &c->addr,
		.key = c->key_len >= CLIENT_KEY_BYTES ? c->key : NULL,
		.params = c->params,
		.pool = c->pc.pool,
		.who = &c->who,
	};

	if (whom != FOR_EYES && !snapshot_takes_client(c)) {
		++*w->left;
		return 0;
	}
	if (whom == FOR_STRANGER && !snapshot_is_plain_client(c))
		return 0;
	if (whom == FOR_SUCCESSOR) {
		writer_init(&r.state, STATE_MAX);
		snapshot_write_client(c, &r.state);
	}
	return emit(w, &r);
}

static int view_fds_server_row(const struct walk *w, const struct server *s)
{
	const struct pool *const p = s->ps.pool;
	const int whom = w->view->variant;
	struct socket_row r = {
		.task = "server",
		.user = p->key.user->name,
		.database = p->key.db->name,
		.fd = s->stream.fd,
		.link = s->ps.client == NULL ? 0 :
		    client_of(s->ps.client)->stream.fd,
		.addr = &s->addr,
		.key = s->key_len >= CLIENT_KEY_BYTES ? s->key : NULL,
		.params = s->params,
		.pool = p,
		.who = &s->who,
	};

	if (s->stream.fd < 0 ||
	    (whom != FOR_EYES && !snapshot_takes_server(s)))
		return 0;
	if (whom == FOR_STRANGER && !snapshot_is_plain_server(s))
		return 0;
	if (whom == FOR_SUCCESSOR) {
		writer_init(&r.state, STATE_MAX);
		snapshot_write_server(s, &r.state);
	}
	return emit(w, &r);
}

/* --- all of them --- */

static int listener_row(void *arg, int fd, const struct net_addr *addr)
{
	return emit(arg, &(struct socket_row){ .task = "pooler", .fd = fd,
		.addr = addr });
}

static int view_fds_walk_logins(const struct walk *w)
{
	struct view_merge m;
	const struct client *c;

	view_merge_begin(&m, w->a, MERGE_LOGINS);
	while ((c = view_merge_take(&m)) != NULL) {
		if (view_fds_client_row(&(struct walk){ m.a, w->view, w->sink,
		    w->left }, c) != 0)
			return -1;
	}
	return 0;
}

static int view_fds_walk_pool(const struct walk *w, const struct pool *p)
{
	static const enum client_state clients[] = { CLIENT_ACTIVE,
		CLIENT_WAITING, CLIENT_WELCOME };
	static const enum server_state servers[] = { SERVER_ACTIVE,
		SERVER_IDLE, SERVER_LISTENING, SERVER_USED, SERVER_TESTED, SERVER_LOGIN };
	struct pool_client *pc;
	struct pool_server *ps;

	for (size_t i = 0; i < VIEW_COUNT(clients); i++) {
		DL_FOREACH(p->clients[clients[i]], pc) {
			if (view_fds_client_row(w, client_of(pc)) != 0)
				return -1;
		}
	}
	for (size_t i = 0; i < VIEW_COUNT(servers); i++) {
		DL_FOREACH(p->servers[servers[i]], ps) {
			if (view_fds_server_row(w, server_of(ps)) != 0)
				return -1;
		}
	}
	return 0;
}

static void walk_all(struct walk *w)
{
	const struct admin *const a = w->a;
	struct view_merge m;
	const struct pool *p;

	if (a->ops->each_listener(a->app, listener_row, w) != 0 ||
	    view_fds_walk_logins(w) != 0)
		return;
	view_merge_begin(&m, a, MERGE_POOLS);
	while ((p = view_merge_take(&m)) != NULL) {
		if (!p->key.db->console &&
		    view_fds_walk_pool(&(struct walk){ m.a, w->view,
		    w->sink, w->left }, p) != 0)
			return;
	}
}

static void fds_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	unsigned left = 0;

	walk_all(&(struct walk){ a, v, sink, &left });
	if (v->variant == FOR_SUCCESSOR && left > 0)
		log_warning("%u clients can't be handed over (TLS, "
		    "replication, login): their sessions will end", left);
}

struct view_group view_group_fds(void)
{
	static const struct view views[] = {
		{ .topic = "FDS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(columns), .rows = fds_rows,
		    .variant = FOR_EYES, .admin = true },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}

/* --- with descriptors --- */

/* Rows and columns all, as they are; the last column may be missing. */
static bool view_fds_is_whole(const struct selection *s)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->from[i] != i)
			return false;
	}
	return s->count >= PLAIN_COLUMNS && s->test_count == 0 &&
	    s->order < 0 && s->limit < 0;
}

bool fds_may_pass(const struct client *c, const struct selection *s)
{
	return strcmp(s->view->topic, "FDS") == 0 && view_fds_is_whole(s) &&
	    c->own_user && c->addr.family == NET_UNIX &&
	    c->stream.tls == NULL;
}

struct pass_sink {
	struct row_sink sink;
	struct shape shape;
	struct fdpass_way way;
	bool failed;
};

static int view_fds_on_row(struct row_sink *sink, const struct cell *cells)
{
	struct pass_sink *const to = container_of(sink, struct pass_sink, sink);
	struct writer w;

	writer_init(&w, 3 * (size_t)STATE_MAX);
	table_write_row(&w, &to->shape, cells);
	to->failed = w.failed || fdpass_send(&to->way, w.at, w.len,
	    (int)cells[0].number) < 0;
	writer_fini(&w);
	return to->failed ? -1 : 0;
}

int fds_pass(struct console *k, const struct view *v, struct err *e)
{
	struct stream *const st = &k->client->stream;
	struct view with = *v;
	const usec_t limit = sessions_settings(k->admin->ss)->suspend_timeout;
	struct pass_sink to = {
		.sink = { view_fds_on_row }, .shape = view_shape(v),
		/* nobody is served until the reader has them all */
		.way = { st->fd, time_precise() +
		    (limit > 0 ? limit : PASS_TIME) },
	};

	if (handover_reads_state(k->client)) {
		with.variant = FOR_SUCCESSOR;
	} else {
		with.variant = FOR_STRANGER;
		to.shape.count = PLAIN_COLUMNS;
	}
	table_write_description(&k->out, &to.shape);
	to.failed = k->out.failed || stream_write_bytes(st, k->out.at,
	    k->out.len) != STREAM_SENT;
	writer_fini(&k->out);
	if (!to.failed)
		with.rows(k->admin, &with, &to.sink);
	/* some may have arrived, even where it failed: the successor decides */
	for (const struct admin *a = k->admin; a != NULL; a = a->next)
		suspension_give(a->ss);
	if (!to.failed)
		return 0;
	return err_set(e, ERRCODE_SYSTEM_ERROR,
	    "could not pass descriptors: %s", strerror(errno));
}
