/* view_sockets.c - SHOW CLIENTS, SERVERS, SOCKETS, ACTIVE_SOCKETS.
 * SPDX-License-Identifier: ISC */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/net.h"
#include "console/admin.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "io/socket.h"
#include "io/tls.h"
#include "login/peer.h"
#include "notify/channels.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "pool/wait.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/server.h"
#include "session/timers.h"

#define SESSION(X) \
	X(TEXT, "type", PLAIN, cell_text(x->type)) \
	X(TEXT, "user", PLAIN, cell_text(x->user)) \
	X(TEXT, "database", PLAIN, cell_text(x->database)) \
	X(TEXT, "replication", PLAIN, \
	    cell_text(replications[x->replication])) \
	X(TEXT, "state", PLAIN, cell_text(x->state)) \
	X(TEXT, "addr", PLAIN, \
	    cell_text(net_format_ip(x->addr, ip, sizeof ip))) \
	X(INT4, "port", PLAIN, cell_number(x->addr->port)) \
	X(TEXT, "local_addr", PLAIN, \
	    cell_text(net_format_ip(&local, local_ip, sizeof local_ip))) \
	X(INT4, "local_port", PLAIN, cell_number(local.port)) \
	X(TIME, "connect_time", PLAIN, cell_number(x->born)) \
	X(TIME, "request_time", PLAIN, cell_number(x->used)) \
	X(INT4, "wait", PLAIN, cell_number(x->wait / USEC)) \
	X(INT4, "wait_us", PLAIN, cell_number(x->wait % USEC)) \
	X(INT4, "close_needed", PLAIN, cell_number(x->close_needed)) \
	X(TEXT, "ptr", PLAIN, \
	    cell_text(format_ptr(x->self, self, sizeof self))) \
	X(TEXT, "link", PLAIN, \
	    cell_text(format_ptr(x->link, link, sizeof link))) \
	X(INT4, "remote_pid", PLAIN, cell_number(x->pid)) \
	X(TEXT, "tls", PLAIN, \
	    cell_text(tls_describe(x->stream, tls, sizeof tls))) \
	X(TEXT, "application_name", PLAIN, cell_text(application_name(w, x))) \
	X(INT4, "prepared_statements", PLAIN, cell_number(x->prepared)) \
	X(INT4, "id", PLAIN, cell_number(view_id(x->id)))

#define PINNED(X) \
	SESSION(X) \
	X(TEXT, "tls_peer", EXTENDED, cell_text(peer)) \
	X(INT4, "pinned", EXTENDED, cell_number(x->pins != 0)) \
	X(TEXT, "pin_reason", EXTENDED, cell_text(keep_name_pins(x->pins, pins)))

#define SERVERS(X) \
	PINNED(X) \
	X(TEXT, "role", EXTENDED, cell_text(roles[x->standby])) \
	X(INT8, "transaction_us", EXTENDED, cell_number(x->transaction)) \
	X(INT4, "client_id", EXTENDED, x->client == NULL ? cell_text(NULL) : \
	    cell_number(view_id(x->client->id))) \
	X(TEXT, "client", EXTENDED, \
	    cell_text(view_sockets_peer_of(x->client, from)))

#define CLIENTS(X) \
	PINNED(X) \
	X(TEXT, "wait_reason", EXTENDED, cell_text(x->wait_reason)) \
	X(INT8, "waited_us", EXTENDED, cell_number(x->queued)) \
	X(INT4, "channels", EXTENDED, cell_number(x->channels)) \
	X(INT8, "transaction_us", EXTENDED, cell_number(x->transaction)) \
	X(INT4, "server_pid", EXTENDED, cell_number(x->server_pid))

#define SOCKETS(X) \
	SESSION(X) \
	X(INT4, "recv_pos", PLAIN, cell_number(x->carry->len)) \
	X(INT4, "pkt_pos", PLAIN, cell_number(0)) \
	X(INT4, "pkt_remain", PLAIN, cell_number(x->skip)) \
	X(INT4, "send_pos", PLAIN, cell_number(0)) \
	X(INT4, "send_remain", PLAIN, cell_number(0)) \
	X(INT4, "pkt_avail", PLAIN, cell_number(x->carry->len)) \
	X(INT4, "send_avail", PLAIN, \
	    cell_number((int64_t)stream_queued(x->stream))) \
	X(TEXT, "tls_peer", EXTENDED, cell_text(peer))

static const char *const roles[] = {
	[FACT_UNKNOWN] = "unknown",
	[FACT_NO] = "primary",
	[FACT_YES] = "standby",
};

static const struct column servers_columns[] = { SERVERS(VIEW_COLUMN) };
static const struct column clients_columns[] = { CLIENTS(VIEW_COLUMN) };
static const struct column sockets_columns[] = { SOCKETS(VIEW_COLUMN) };

/* A list of a pool, and what its members are called. */
struct part {
	bool is_server;
	uint8_t state;		/* enum client_state or server_state */
	const char *name;
	const char *unlinked;	/* when nobody is at the other end; or NULL */
};

static const struct part clients_parts[] = {
	{ .state = CLIENT_ACTIVE, .name = "active", .unlinked = "idle" },
	{ .state = CLIENT_WAITING, .name = "waiting" },
	{ .state = CLIENT_WELCOME, .name = "waiting" },
	{ .state = CLIENT_DEDICATED_WAITING, .name = "waiting" },
	{ .state = CLIENT_CANCEL_SENT, .name = "active_cancel_req" },
	{ .state = CLIENT_CANCEL_WAITING, .name = "waiting_cancel_req" },
};

static const struct part servers_parts[] = {
	{ true, SERVER_ACTIVE, "active", "idle" },
	{ true, SERVER_IDLE, "idle", NULL },
	{ true, SERVER_USED, "used", NULL },
	{ true, SERVER_TESTED, "tested", NULL },
	{ true, SERVER_LOGIN, "new", NULL },
	{ true, SERVER_DEDICATED_LOGIN, "new", NULL },
	{ true, SERVER_ACTIVE_CANCEL, "active_cancel", NULL },
	{ true, SERVER_BEING_CANCELED, "being_canceled", NULL },
	{ true, SERVER_LISTENING, "listening", NULL },
};

static const struct part sockets_parts[] = {
	{ false, CLIENT_ACTIVE, "cl_active", NULL },
	{ false, CLIENT_WAITING, "cl_waiting", NULL },
	{ false, CLIENT_WELCOME, "cl_waiting", NULL },
	{ false, CLIENT_DEDICATED_WAITING, "cl_waiting", NULL },
	{ true, SERVER_ACTIVE, "sv_active", NULL },
	{ true, SERVER_IDLE, "sv_idle", NULL },
	{ true, SERVER_USED, "sv_used", NULL },
	{ true, SERVER_TESTED, "sv_tested", NULL },
	{ true, SERVER_LOGIN, "sv_login", NULL },
	{ true, SERVER_DEDICATED_LOGIN, "sv_login", NULL },
	{ true, SERVER_LISTENING, "sv_listening", NULL },
};

/* By struct view's variant. */
enum { VARIANT_CLIENTS, VARIANT_SERVERS, VARIANT_SOCKETS, VARIANT_ACTIVE };

static const struct {
	const struct part *parts;
	size_t count;
} variants[] = {
	[VARIANT_CLIENTS] = { clients_parts, VIEW_COUNT(clients_parts) },
	[VARIANT_SERVERS] = { servers_parts, VIEW_COUNT(servers_parts) },
	[VARIANT_SOCKETS] = { sockets_parts, VIEW_COUNT(sockets_parts) },
	[VARIANT_ACTIVE] = { sockets_parts, VIEW_COUNT(sockets_parts) },
};

/* What a client and a server have in common here. */
struct session {
	const char *type, *user, *database, *state;
	uint8_t replication;
	const struct net_addr *addr;
	const struct stream *stream;
	const struct carry *carry;
	const struct params *params;
	usec_t born, used;
	usec_t wait;		/* a duration */
	usec_t transaction;	/* since it began; 0 = there is none */
	usec_t queued;		/* since it waits for a server; 0 = it does not */
	const char *wait_reason;	/* NULL = it does not */
	const void *self, *link;	/* link: NULL = none */
	const struct client *client;	/* of a server; NULL = none */
	int32_t pid, server_pid;	/* server_pid: of a client's server */
	unsigned prepared, channels;
	uint64_t id;
	uint32_t skip;
	uint8_t pins;		/* of enum pin; of a client: its server's */
	uint8_t standby;	/* enum fact */
	bool close_needed;
};

/* One walk over the sessions. */
struct walk {
	const struct admin *a;
	const struct view *view;
	struct row_sink *sink;
	int application_name;	/* index of the tracked parameter */
};

static usec_t client_queued(const struct client *c)
{
	return c->pc.state == CLIENT_WAITING || c->pc.state == CLIENT_WELCOME ||
	    c->pc.state == CLIENT_DEDICATED_WAITING ?
	    time_now() - c->pc.wait_since : 0;
}

static usec_t client_wait(const struct client *c)
{
	const usec_t queued = client_queued(c);

	if (queued > 0 || c->query_start == 0)
		return queued;
	/* query_start was read precisely, in this turn perhaps */
	const usec_t wait = time_now() - c->query_start;

	return wait > 0 ? wait : 0;
}

/*
 * A client that waits for a server has none yet. xact_start was read precisely,
 * in this turn perhaps.
 */
static usec_t client_transaction(const struct client *c)
{
	const usec_t time = time_now() - c->xact_start;

	if (c->xact_start == 0 || c->pc.server == NULL)
		return 0;
	return time > 0 ? time : 1;
}

/* PostgreSQL's process; 0: a server without a key. */
static int32_t server_pid(const struct server *s)
{
	return s->key_len >= 4 ? (int32_t)msg_u32(s->key) : 0;
}

/* "10.0.0.7:51034", "[::1]:51034", "unix"; NULL: there is nobody. */
static const char *view_sockets_peer_of(const struct client *c,
    char buf[NET_TEXT_MAX])
{
	return c == NULL ? NULL : c->addr.family == NET_UNIX ? "unix" :
	    net_format(&c->addr, buf, NET_TEXT_MAX);
}

static struct session client_session(const struct client *c, const char *state)
{
	const struct pool *const p = c->pc.pool;
	const struct database *const db = p != NULL ? p->key.db : c->db;

	return (struct session){
		.type = "C",
		.user = c->user != NULL ? c->user->name : "(nouser)",
		.database = db != NULL ? db->name : "(nodb)",
		.state = state,
		.replication = c->replication,
		.addr = &c->addr,
		.stream = &c->stream,
		.carry = &c->carry,
		.params = c->params,
		.born = c->born,
		.used = c->request_time,
		.wait = client_wait(c),
		.queued = client_queued(c),
		.transaction = client_transaction(c),
		.server_pid = c->pc.server != NULL ?
		    server_pid(server_of(c->pc.server)) : 0,
		.self = c,
		.link = c->pc.server != NULL ? server_of(c->pc.server) : NULL,
		.pid = c->addr.family == NET_UNIX ? c->addr.pid : 0,
		.prepared = slots_count(c->statements),
		.channels = channels_count(c),
		.id = c->id,
		.skip = c->rest.bytes,
		.pins = c->pc.server != NULL ?
		    server_of(c->pc.server)->keep.pins : 0,
	};
}

static struct session server_session(const struct server *s, const char *state)
{
	const struct client *const c = s->ps.client != NULL ?
	    client_of(s->ps.client) : NULL;

	return (struct session){
		.type = "S",
		.user = s->ps.pool->key.user->name,
		.database = s->ps.pool->key.db->name,
		.state = state,
		.replication = c != NULL ? c->replication : REPLICATION_NONE,
		.addr = &s->addr,
		.stream = &s->stream,
		.carry = &s->carry,
		.params = s->params,
		.born = s->ps.born,
		.used = s->ps.used,
		.self = s,
		.link = c,
		.client = c,
		.transaction = c != NULL ? client_transaction(c) : 0,
		.pid = server_pid(s),
		.prepared = s->prepared.count,
		.id = s->id,
		.skip = s->rest.bytes,
		.pins = s->keep.pins,
		.standby = s->standby,
		.close_needed = s->ps.close_needed,
	};
}

static const char *format_ptr(const void *p, char *buf, size_t size)
{
	if (p == NULL)
		return "";
	snprintf(buf, size, "0x%" PRIxPTR, (uintptr_t)p);
	return buf;
}

/* A Unix socket has the same name at both ends. */
static struct net_addr local_addr(const struct session *x)
{
	struct net_addr local = *x->addr;

	if (local.family == NET_UNIX)
		return local;
	if (socket_local_addr(x->stream->fd, &local) < 0)
		local = (struct net_addr){ .family = NET_NONE };
	return local;
}

static const char *application_name(const struct walk *w,
    const struct session *x)
{
	const char *name = NULL;

	if (x->params != NULL && w->application_name >= 0)
		name = params_get(x->params, w->application_name);
	return name != NULL ? name : "";
}

static int session_row(const struct walk *w, const struct session *x)
{
	static const char *const replications[] = {
		[REPLICATION_NONE] = "none",
		[REPLICATION_LOGICAL] = "logical",
		[REPLICATION_PHYSICAL] = "physical",
	};
	const struct net_addr local = local_addr(x);
	char ip[NET_TEXT_MAX], local_ip[NET_TEXT_MAX], self[32], link[32];
	char tls[TLS_TEXT_MAX], peer[TLS_NAME_MAX], pins[KEEP_PINS_MAX];
	char from[NET_TEXT_MAX];

	if (w->view->variant == VARIANT_ACTIVE && x->carry->len == 0 &&
	    stream_queued(x->stream) == 0)
		return 0;
	(void)tls_peer_name(x->stream, peer, sizeof peer);
	switch (w->view->variant) {
	case VARIANT_CLIENTS: return w->sink->row(w->sink, VIEW_ROW(CLIENTS));
	case VARIANT_SERVERS: return w->sink->row(w->sink, VIEW_ROW(SERVERS));
	default: return w->sink->row(w->sink, VIEW_ROW(SOCKETS));
	}
}

/* What one in this state is called; NULL: it is in none of the lists. */
static const struct part *view_sockets_part_of(const struct view *v,
    bool is_server, int state)
{
	const struct part *const parts = variants[v->variant].parts;

	for (size_t i = 0; i < variants[v->variant].count; i++) {
		if (parts[i].is_server == is_server && parts[i].state == state)
			return &parts[i];
	}
	return NULL;
}

static bool shows_logins(const struct view *v)
{
	return v->variant == VARIANT_SOCKETS || v->variant == VARIANT_ACTIVE;
}

static struct walk walk_of(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	return (struct walk){ a, v, sink,
		params_find(a->ss->params, "application_name") };
}

static const char *state_name(const struct part *part, const void *other)
{
	return part->unlinked != NULL && other == NULL ? part->unlinked :
	    part->name;
}

static const char *view_sockets_reason_of(const struct admin *a,
    const struct pool *p, int state)
{
	return p->client_count[state] == 0 ? NULL : wait_name(wait_reason(p,
	    (enum client_state)state, a->ss->catalog, time_now()));
}

static int login_row(const struct walk *w, const struct client *c)
{
	const struct session x = client_session(c, "cl_login");

	return session_row(w, &x);
}

/* One by itself. */
static int view_sockets_client_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct client *const c = item;
	const struct part *const part =
	    view_sockets_part_of(v, false, c->pc.state);
	const struct walk w = walk_of(a, v, sink);

	if (c->pc.state == CLIENT_LOGIN && shows_logins(v))
		return login_row(&w, c);
	if (c->pc.pool == NULL || part == NULL)
		return 0;
	struct session x = client_session(c,
	    state_name(part, c->pc.server));

	x.wait_reason = view_sockets_reason_of(a, c->pc.pool, c->pc.state);
	return session_row(&w, &x);
}

static int view_sockets_server_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct server *const s = item;
	const struct part *const part =
	    view_sockets_part_of(v, true, s->ps.state);
	const struct walk w = walk_of(a, v, sink);

	if (part == NULL)
		return 0;
	const struct session x = server_session(s,
	    state_name(part, s->ps.client));

	return session_row(&w, &x);
}

static int walk_clients(const struct walk *w, const struct pool *p,
    const struct part *part)
{
	const char *const reason = view_sockets_reason_of(w->a, p, part->state);
	const struct pool_client *pc;

	DL_FOREACH(p->clients[part->state], pc) {
		struct session x = client_session(
		    client_of((struct pool_client *)pc),
		    state_name(part, pc->server));

		x.wait_reason = reason;
		if (session_row(w, &x) != 0)
			return -1;
	}
	return 0;
}

static int walk_servers(const struct walk *w, const struct pool *p,
    const struct part *part)
{
	const struct pool_server *ps;

	DL_FOREACH(p->servers[part->state], ps) {
		const struct session x = server_session(
		    server_of((struct pool_server *)ps),
		    state_name(part, ps->client));

		if (session_row(w, &x) != 0)
			return -1;
	}
	return 0;
}

static int view_sockets_walk_pool(const struct walk *w, const struct pool *p)
{
	const struct part *const parts = variants[w->view->variant].parts;
	const size_t count = variants[w->view->variant].count;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = parts[i].is_server ? walk_servers(w, p, &parts[i]) :
		    walk_clients(w, p, &parts[i]);
	return rc;
}

/* Returns non-zero to stop. */
static int walk_pools(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct view_merge m;
	const struct pool *p;

	view_merge_begin(&m, a, MERGE_POOLS);
	while ((p = view_merge_take(&m)) != NULL) {
		const struct walk w = walk_of(m.a, v, sink);

		if (view_sockets_walk_pool(&w, p) != 0)
			return -1;
	}
	return 0;
}

static int walk_peers(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct walk w = walk_of(a, v, sink);

	peer_sort(a->ss);
	for (const struct peer *p = a->ss->peers; p != NULL;
	    p = p->hh.next) {
		if (view_sockets_walk_pool(&w, &p->pool) != 0)
			return -1;
	}
	return 0;
}

static void view_sockets_walk_logins(const struct admin *a,
    const struct view *v, struct row_sink *sink)
{
	struct view_merge m;
	const struct client *c;

	view_merge_begin(&m, a, MERGE_LOGINS);
	while ((c = view_merge_take(&m)) != NULL) {
		const struct walk w = walk_of(m.a, v, sink);

		if (login_row(&w, c) != 0)
			return;
	}
}

static void sockets_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	/* peers are the first worker's */
	if (walk_pools(a, v, sink) != 0 || walk_peers(a, v, sink) != 0)
		return;
	if (shows_logins(v))
		view_sockets_walk_logins(a, v, sink);
}

struct view_group view_group_sockets(void)
{
	static const struct view servers_of_sockets = {
		.over = VIEW_SERVERS, .item = view_sockets_server_row,
		.variant = VARIANT_SOCKETS };
	static const struct view servers_of_active = {
		.over = VIEW_SERVERS, .item = view_sockets_server_row,
		.variant = VARIANT_ACTIVE };
	static const struct view views[] = {
		{ .topic = "CLIENTS",
		    .spread = VIEW_FIRST,
		    VIEW_COLUMNS(clients_columns),
		    .rows = sockets_rows,
		    .over = VIEW_CLIENTS,
		    .item = view_sockets_client_row,
		    .variant = VARIANT_CLIENTS },
		{ .topic = "SERVERS",
		    .spread = VIEW_FIRST,
		    VIEW_COLUMNS(servers_columns),
		    .rows = sockets_rows,
		    .over = VIEW_SERVERS,
		    .item = view_sockets_server_row,
		    .variant = VARIANT_SERVERS },
		{ .topic = "SOCKETS",
		    .spread = VIEW_FIRST,
		    VIEW_COLUMNS(sockets_columns),
		    .rows = sockets_rows,
		    .over = VIEW_CLIENTS,
		    .item = view_sockets_client_row,
		    .then = &servers_of_sockets,
		    .variant = VARIANT_SOCKETS,
		    .console = true },
		{ .topic = "ACTIVE_SOCKETS",
		    .spread = VIEW_FIRST,
		    VIEW_COLUMNS(sockets_columns),
		    .rows = sockets_rows,
		    .over = VIEW_CLIENTS,
		    .item = view_sockets_client_row,
		    .then = &servers_of_active,
		    .variant = VARIANT_ACTIVE,
		    .console = true },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
