/* snapshot_load.c - creates sessions from bytes.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/broker.h"
#include "io/socket.h"
#include "notify/channels.h"
#include "notify/listener.h"
#include "pool/hosts.h"
#include "pool/limit.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "relay/relay.h"
#include "relay/relay_own.h"
#include "relay/relay_schema.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "state/custom_table.h"
#include "transfer/snapshot.h"
#include "transfer/snapshot_parts.h"

/* The pool of user in database. NULL: e has the reason, or "". */
static struct pool *snapshot_find_pool(struct sessions *ss,
    const struct snapshot *h, struct err *e)
{
	struct catalog *const cat = ss->catalog;
	struct database *db = catalog_find_database(cat, h->database);

	e->text[0] = '\0';
	if (db == NULL)
		db = catalog_auto_database(cat, h->database, e);
	if (db == NULL || db->console)
		return NULL;
	struct user *const u = catalog_get_user(cat, h->user);
	struct user *const pu = u == NULL ? NULL :
	    catalog_pool_user(cat, db, u);
	struct pool *const p = pu == NULL ? NULL :
	    catalog_get_pool(cat, db, pu);

	if (p == NULL)
		(void)err_nomem(e);
	return p;
}

/*
 * Bytes that the socket had not accepted are sent when all sessions continue.
 */
static int snapshot_read_queued(struct stream *s, const uint8_t *p, size_t n)
{
	return n > 0 && stream_queue(s, p, n) == STREAM_BROKEN ? -1 : 0;
}

/*
 * Reads a set of settings. Its names of custom parameters become known here,
 * too.
 */
static int snapshot_read_baggage(struct sessions *ss,
    const struct snapshot_baggage *in, struct baggage **out, struct err *e)
{
	if (in->at == NULL)
		return 0;
	*out = baggage_get(ss->baggage, in->at, in->len);
	if (*out == NULL)
		return err_nomem(e);
	custom_table_share_set(ss, *out);
	return 0;
}

/* Returns a counted statement, or NULL with e. */
static struct prepared *snapshot_read_statement(struct sessions *ss,
    const struct snapshot_statement *in, struct err *e)
{
	struct baggage *dialect = NULL;

	if (snapshot_read_baggage(ss, &in->dialect, &dialect, e) < 0)
		return NULL;
	struct prepared *const stmt = (in->retired ? prepared_adopt_retired :
	    prepared_adopt)(ss->prepared, in->server_name,
	    (struct prepared_text){ .dialect = dialect,
	    .body = in->body, .len = in->len });

	baggage_unref(&dialect);
	if (stmt == NULL)
		err_set(e, ERRCODE_OUT_OF_MEMORY, "no statement %s",
		    in->server_name);
	else
		stmt->unsure = stmt->unsure || in->unsure;
	return stmt;
}

static int read_names(struct client *c, struct reader *list, struct err *e)
{
	struct snapshot_statement in;

	while (snapshot_next_statement(list, &in)) {
		struct prepared *const stmt = snapshot_read_statement(c->ss,
		    &in, e);

		if (stmt == NULL)
			return -1;
		const int rc = prepared_name_add(&c->statements, in.name,
		    stmt);

		struct prepared_name *const n = rc < 0 ? NULL :
		    prepared_name_find(c->statements, in.name);

		if (n != NULL) {
			n->lost = in.lost;
			n->told = in.shape;
		}
		prepared_unref(stmt);
		if (rc < 0)
			return err_nomem(e);
		c->relay.stands = c->relay.stands || in.name[0] == '\0';
	}
	return 0;
}

static void set_client(struct client *c, const struct snapshot_client *in)
{
	c->born = in->born;
	c->request_time = in->request_time;
	c->query_start = in->query_start;
	c->xact_start = in->xact_start;
	c->waited = in->waited;
	c->pc.wait_since = in->wait_since;
	c->rest.bytes = in->rest;
	c->rest.dropped = (in->flags & SNAPSHOT_DROP) != 0;
	c->notified = (in->flags & SNAPSHOT_NOTIFIED) != 0;
	c->told = (in->flags & SNAPSHOT_BEHIND) != 0 ? UINT32_MAX : 0;
	c->has_spoken = true;
	c->welcomed = (in->flags & SNAPSHOT_WELCOME) == 0;
}

static enum hears hears_of(unsigned flags)
{
	return (flags & SNAPSHOT_HEARS_SERVER) != 0 ? HEARS_SERVER :
	    (flags & SNAPSHOT_HEARS_NOBODY) != 0 ? HEARS_NOBODY :
	    HEARS_LISTENER;
}

/* If the listener's connection did not come, that is noticed later. */
static int read_channels(struct client *c, struct snapshot_client *in,
    struct err *e)
{
	while (reader_left(&in->channels) > 0) {
		const char *const name = reader_str(&in->channels);

		if (name == NULL)
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "state of a session is broken");
		if (channels_find(c, name) == NULL &&
		    channels_add(c, name, SUBSCRIBED) < 0)
			return err_nomem(e);
	}
	if (c->listening == NULL)
		return 0;
	struct listening *const g = c->listening;

	g->hears = hears_of(in->flags);
	g->always = (in->flags & SNAPSHOT_ALWAYS) != 0;
	g->expects = (in->flags & SNAPSHOT_EXPECTS) != 0;
	writer_bytes(&g->waiting, in->heard, in->heard_len);
	writer_bytes(&g->early, in->early, in->early_len);
	return g->waiting.failed || g->early.failed ? err_nomem(e) : 0;
}

static int fill_client(struct client *c, struct snapshot_client *in,
    struct err *e)
{
	if (in->key_len > sizeof c->key || in->key_len < CLIENT_KEY_BYTES)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "state of a session is broken");
	set_client(c, in);
	pool_client_set(&c->pc, !c->welcomed ? CLIENT_WELCOME :
	    (in->flags & SNAPSHOT_WAITING) != 0 ? CLIENT_WAITING :
	    CLIENT_ACTIVE);
	if (params_list_load(c->ss->params, in->params, &c->params) < 0 ||
	    carry_keep(&c->carry, in->carry, in->carry_len) < 0 ||
	    snapshot_read_queued(&c->stream, in->queued, in->queued_len) < 0)
		return err_nomem(e);
	if (in->query_text != NULL &&
	    slow_set_text(c, in->query_text) < 0)
		return err_nomem(e);
	if (relay_state_load(&c->relay, c->ss->params,
	    (struct relay_bytes){ in->relay, in->relay_len }, e) < 0)
		return -1;
	if (c->welcomed)
		client_set_key(c, in->key, in->key_len);
	else	/* a key comes with the welcome */
		c->key_len = (uint8_t)in->key_len;
	relay_own_came(c);
	prepared_skip(c->ss->prepared, in->last);
	if (snapshot_read_baggage(c->ss, &in->baggage, &c->baggage, e) < 0 ||
	    snapshot_read_baggage(c->ss, &in->brought, &c->brought, e) < 0)
		return -1;
	if (read_channels(c, in, e) < 0)
		return -1;
	return read_names(c, &in->statements, e);
}

/* If this process fails, the old one continues with c. So c is told nothing. */
static void drop_client(struct client *c, struct close_cause why)
{
	c->stream.broken = true;
	client_close_cause(c, why);
}

/*
 * Does c know its statements by the names that this process would use? Names
 * that were translated stay translated. Names that were not are known only to
 * the server.
 */
static bool load_fits(const struct client *c, unsigned flags)
{
	return (flags & (SNAPSHOT_TRANSLATES | SNAPSHOT_SESSION)) != 0 ||
	    !c->welcomed || !relay_translates(c);
}

struct client *snapshot_read_client(struct sessions *ss,
    const struct snapshot *h, struct err *e)
{
	struct snapshot_client in;
	struct pool *p = NULL;
	struct net_addr peer;

	if (snapshot_parse_client(h->state, h->len, &in, e) == 0)
		p = snapshot_find_pool(ss, h, e);
	if (p == NULL || socket_peer_addr(h->fd, &peer) < 0) {
		close(h->fd);
		return NULL;
	}
	if (peer.family == NET_UNIX)
		peer.port = (uint16_t)sessions_settings(ss)->listen_port;
	else
		peer = in.addr;
	struct client *const c = client_open(ss, h->fd, &peer);

	if (c == NULL) {
		(void)err_nomem(e);
		return NULL;
	}
	client_become(c, ss->client_ops.relay);
	stream_suspend(&c->stream);
	client_enter(c, p->key.db, catalog_get_user(ss->catalog, h->user));
	c->pc.pool = p;
	if (fill_client(c, &in, e) < 0) {
		drop_client(c, close_cause_err(CLOSE_SNAPSHOT_UNUSABLE, e));
		return NULL;
	}
	if (load_fits(c, in.flags))
		return c;
	drop_client(c, close_cause(CLOSE_CONFIGURATION_CHANGED));
	e->text[0] = '\0';
	return NULL;
}

void snapshot_link(struct client *c, struct server *s)
{
	const uint8_t mode = s->ps.mode;	/* from the old process, when it
						 * linked them */

	pool_link(&c->pc, &s->ps);
	s->ps.mode = mode;
}

void snapshot_go_on(struct client *c)
{
	broker_adopt(c);
}

static bool same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Does the connection lead to the same place as a new one would? */
static bool same_place(const struct snapshot_server *in, const struct pool *p)
{
	const struct config_db *const db = p->key.db->conf;

	return same(in->host, db->host) && in->port == (uint32_t)db->port &&
	    same(in->dbname, db->dbname) &&
	    same(in->forced_user, db->user) &&
	    same(in->connect_query, db->connect_query) &&
	    in->startup == p->startup;
}

static int read_uses(struct server *s, struct reader *list, struct err *e)
{
	struct snapshot_statement in;

	while (snapshot_next_statement(list, &in)) {
		struct prepared *const stmt = snapshot_read_statement(s->ss,
		    &in, e);

		if (stmt == NULL)
			return -1;
		const bool there = prepared_uses_touch(&s->prepared, stmt) !=
		    NULL || prepared_uses_add(&s->prepared, stmt) == 0;

		if (there) {
			struct prepared_use *const use = prepared_uses_touch(
			    &s->prepared, stmt);

			use->shape = in.shape;
			use->generation = in.current ?
			    relay_schema_generation(s) : 0;
		}
		prepared_unref(stmt);
		if (!there)
			return err_nomem(e);
	}
	return 0;
}

static struct prepared_op *read_op(struct server *s,
    const struct snapshot_owed *in, struct err *e)
{
	struct prepared *const stmt = in->has_statement ?
	    snapshot_read_statement(s->ss, &in->of, e) : NULL;

	if (in->has_statement && stmt == NULL)
		return NULL;
	struct prepared_op *const op = prepared_op_new(in->changes, stmt,
	    in->of.name);

	prepared_unref(stmt);
	if (op == NULL)
		(void)err_nomem(e);
	else if (in->has_statement)
		op->shape = in->of.shape;
	return op;
}

static int read_owed(struct server *s, struct snapshot_server *in,
    struct err *e)
{
	struct track *const t = &s->track;
	struct snapshot_owed owed;

	while (snapshot_next_owed(&in->owed, &owed)) {
		struct track_req r = { .type = owed.type, .how = owed.how,
			.own = owed.own,
			.tag = owed.tag };

		if (owed.has_op && (r.op = read_op(s, &owed, e)) == NULL)
			return -1;
		if (track_put(t, &r) < 0) {
			prepared_op_free(r.op);
			return err_nomem(e);
		}
	}
	t->status = in->status;
	t->ready = (in->flags & SNAPSHOT_READY) != 0;
	t->copy_in = (in->flags & SNAPSHOT_COPY_IN) != 0;
	t->aborted = (in->flags & SNAPSHOT_ABORTED) != 0;
	t->uncertain = (in->flags & SNAPSHOT_UNCERTAIN) != 0;
	return 0;
}

/* Reads the welcome for clients of the pool. The pool keeps the first one. */
static int read_welcome(struct server *s, struct snapshot_server *in,
    struct err *e)
{
	struct pool *const p = s->ps.pool;

	if (!in->has_welcome || p->welcome != NULL || s->ps.close_needed)
		return 0;
	struct params *set = params_empty(s->ss->params);

	if (set == NULL ||
	    params_list_load(s->ss->params, in->welcome_params,
	    &set) < 0) {
		params_unref(&set);
		return err_nomem(e);
	}
	return pool_put_welcome(p, set, in->welcome, in->welcome_len) < 0 ?
	    err_nomem(e) : 0;
}

static int set_address(struct server *s, const struct snapshot_server *in,
    struct err *e)
{
	const size_t len = strlen(in->address);

	if (in->key_len > sizeof s->key || len >= sizeof s->host.text ||
	    in->host_kind > HOST_NAME)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "state of a session is broken");
	memcpy(s->key, in->key, in->key_len);
	s->key_len = (uint16_t)in->key_len;
	memcpy(s->host.text, in->address, len + 1);
	s->host.kind = (enum host_kind)in->host_kind;
	s->addr = s->host.addr = in->addr;
	return 0;
}

/*
 * Reads the present values of s, and its first ones. Returns 0, or -1: no
 * memory.
 */
static int read_params(struct server *s, const struct snapshot_server *in)
{
	const struct params_table *const t = s->ss->params;

	s->origin.silent = params_list_bits(t, in->params, in->silent);
	s->origin.set = params_empty(s->ss->params);
	/* the origin of silent values is unknown */
	return s->origin.set == NULL ||
	    params_list_load(t, in->origin, &s->origin.set) < 0 ||
	    params_list_load(t, in->params, &s->params) < 0 ||
	    params_forget(&s->params, &s->origin, false) < 0 ? -1 : 0;
}

static void set_trace(struct trace *t, const struct snapshot_server *in)
{
	uint32_t bits = in->trace;

#define SET(field) t->field = (bits & 1) != 0; bits >>= 1;
	SNAPSHOT_TRACE(SET)
#undef SET
	t->sets = in->sets;
	t->local = in->local;
	t->pins = in->untold & PINS_UNTOLD;
}

static void set_keep(struct keep *k, const struct snapshot_server *in)
{
	uint32_t bits = in->keep;

#define SET(field) k->field = (bits & 1) != 0; bits >>= 1;
	SNAPSHOT_KEEP(SET)
#undef SET
	k->lending = in->lending <= LENDING_TRIED ? in->lending : LENDING_OVER;
	k->resets = in->resets;
	k->bound = in->bound;
	k->marks = true;	/* for all that is known */
	/* if a probe was under way, the first part of its answer is lost */
	k->canceled = in->runs == OWN_QUERY_PROBE ||
	    in->runs == OWN_QUERY_BASE;
}

static void set_listening(struct server *s, const struct snapshot_server *in)
{
	struct keep *const k = &s->keep;

	k->brought = (in->flags & SNAPSHOT_BROUGHT) != 0 ? BROUGHT :
	    (in->flags & SNAPSHOT_BROUGHT_INSIDE) != 0 ? BROUGHT_INSIDE :
	    BROUGHT_NOTHING;
	k->bring = in->bring;
	s->trace.marked = s->trace.marked || k->brought != BROUGHT_NOTHING;
	if ((in->flags & SNAPSHOT_LISTENING) == 0)
		return;
	pool_server_set(&s->ps, SERVER_LISTENING);
	s->ps.stained = false;
	listener_inherit(s);
}

/* If nobody has watched the session, it may have any state. */
static void set_stain(struct server *s, const struct snapshot_server *in)
{
	const unsigned both = SNAPSHOT_WATCHED | SNAPSHOT_STAINED;

	s->ps.stained = s->ps.pool->limits.state == STATE_FORGET ?
	    (in->flags & both) == both :
	    (in->flags & both) != SNAPSHOT_WATCHED;
	/* the base must be asked for before the state is removed */
	if (s->ps.stained && keep_is_on(s->ps.pool))
		s->trace.marked = s->trace.unlisted = true;
	/* an idle server would be assigned as it is */
	if (s->ps.stained && (in->flags & SNAPSHOT_LINKED) == 0)
		s->ps.close_needed = true;
}

/* The old pool had another session_state, or the old process did not probe. */
static void load_distrust(struct server *s, const struct snapshot_server *in)
{
	if (!keep_is_strange(s) || s->ps.state == SERVER_LISTENING)
		return;
	s->ps.stained = true;
	if ((in->flags & SNAPSHOT_LINKED) == 0)
		s->ps.close_needed = true;
}

static void learn_names(struct server *s, struct reader *list)
{
	while (reader_left(list) > 0) {
		const char *const name = reader_str(list);

		if (list->failed)
			return;
		(void)custom_table_put(s, name);
	}
}

/* Own queries during which a server can be handed over. */
static bool may_run(uint8_t query)
{
	return query == OWN_QUERY_NONE || query == OWN_QUERY_PARAMS ||
	    query == OWN_QUERY_PROBE || query == OWN_QUERY_BASE;
}

static int fill_server(struct server *s, struct snapshot_server *in,
    struct err *e)
{
	s->ps.born = in->born;
	s->ps.used = in->used;
	evict_update(&s->ps);
	s->ps.close_needed = (in->flags & SNAPSHOT_CLOSE) != 0 ||
	    !same_place(in, s->ps.pool);
	set_keep(&s->keep, in);
	set_trace(&s->trace, in);
	set_stain(s, in);
	set_listening(s, in);
	if ((in->flags & SNAPSHOT_OLD) != 0)
		s->ps.pool->old_protocol = true;
	if (!may_run(in->runs) && s->ps.state != SERVER_LISTENING)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "state of a session is broken");
	server_set_own_query(s, (enum own_query)in->runs);
	s->cancel_wanted = (in->flags & SNAPSHOT_CANCEL) != 0;
	s->rest.bytes = in->rest;
	s->rest.dropped = (in->flags & SNAPSHOT_DROP) != 0;
	s->superuser = (in->flags & SNAPSHOT_SUPERUSER) != 0;
	s->standby = (in->flags & SNAPSHOT_STANDBY) != 0 ? FACT_YES :
	    (in->flags & SNAPSHOT_PRIMARY) != 0 ? FACT_NO : FACT_UNKNOWN;
	s->schema_changed = s->schema_open = (in->flags & SNAPSHOT_SCHEMA) != 0 ?
	    SCHEMA_CHANGED : SCHEMA_SAME;
	s->ps.mode = (in->flags & SNAPSHOT_SESSION) != 0 ? POOL_SESSION :
	    (in->flags & SNAPSHOT_STATEMENT) != 0 ? POOL_STATEMENT :
	    POOL_TRANSACTION;
	if (read_params(s, in) < 0 ||
	    carry_keep(&s->carry, in->carry, in->carry_len) < 0 ||
	    carry_keep(&s->asked, in->asked, in->asked_len) < 0 ||
	    snapshot_read_queued(&s->stream, in->queued, in->queued_len) < 0)
		return err_nomem(e);
	/* it may contain whole messages, which the socket does not announce */
	if (s->carry.len > 0)
		stream_reread(&s->stream);
	if (set_address(s, in, e) < 0 || read_owed(s, in, e) < 0 ||
	    read_welcome(s, in, e) < 0)
		return -1;
	prepared_skip(s->ss->prepared, in->last);
	s->unnamed = in->unnamed;
	sessions_skip_unnamed(s->ss, in->last_unnamed);
	keep_set_pins(s, in->pins);
	/* the server is asked again for the channels */
	s->trace.marked = s->trace.marked || (in->pins & PIN_LISTEN) != 0;
	learn_names(s, &in->names);
	if (snapshot_read_baggage(s->ss, &in->has, &s->keep.has, e) < 0 ||
	    snapshot_read_baggage(s->ss, &in->base, &s->keep.base, e) < 0)
		return -1;
	keep_note_path(s);
	load_distrust(s, in);
	s->prepared.forgotten = in->forgotten;
	/*
	 * another worker, whose statements also come here, may know the names
	 */
	s->ps.close_needed = s->ps.close_needed || in->forgotten > 0;
	return read_uses(s, &in->statements, e);
}

struct server *snapshot_read_server(struct sessions *ss,
    const struct snapshot *h, struct err *e)
{
	struct snapshot_server in;
	struct pool *p = NULL;

	if (snapshot_parse_server(h->state, h->len, &in, e) == 0)
		p = snapshot_find_pool(ss, h, e);
	if (p == NULL) {
		close(h->fd);
		return NULL;
	}
	struct server *const s = server_adopt(ss, p, h->fd);

	if (s == NULL) {
		(void)err_nomem(e);
		return NULL;
	}
	stream_suspend(&s->stream);
	if (fill_server(s, &in, e) == 0)
		return s;
	s->stream.broken = true;
	server_close_cause(s, close_cause_err(CLOSE_SNAPSHOT_UNUSABLE, e));
	return NULL;
}
