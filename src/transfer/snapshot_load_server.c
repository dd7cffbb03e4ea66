/* snapshot_load_server.c - sessions as bytes: made again; servers.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/errcodes.h"
#include "notify/listener.h"
#include "pool/evict.h"
#include "pool/host_role.h"
#include "proto/params.h"
#include "proto/params_list.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track_look.h"
#include "relay/relay_schema.h"
#include "session/server.h"
#include "session/sessions.h"
#include "state/custom_table.h"
#include "transfer/snapshot.h"
#include "transfer/snapshot_load_parts.h"
#include "transfer/snapshot_parts.h"

static bool same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Does the connection lead to where a new one would? */
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

/* The welcome for clients of the pool; the first that is known is kept. */
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

/* The values of s, and the values it had at first. 0, or -1: no memory. */
static int read_params(struct server *s, const struct snapshot_server *in)
{
	const struct params_table *const t = s->ss->params;

	s->origin.silent = params_list_bits(t, in->params, in->silent);
	s->origin.set = params_empty(s->ss->params);
	/* of silent values nobody knows where they came from */
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
	/* of a probe under way, what has come of the answer stays behind */
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

/* What nobody has watched may have anything. */
static void set_stain(struct server *s, const struct snapshot_server *in)
{
	const unsigned both = SNAPSHOT_WATCHED | SNAPSHOT_STAINED;

	s->ps.stained = s->ps.pool->limits.state == STATE_FORGET ?
	    (in->flags & both) == both :
	    (in->flags & both) != SNAPSHOT_WATCHED;
	/* to be asked for, before that is taken away */
	if (s->ps.stained && keep_is_on(s->ps.pool))
		s->trace.marked = s->trace.unlisted = true;
	/* an idle one would be lent as it is */
	if (s->ps.stained && (in->flags & SNAPSHOT_LINKED) == 0)
		s->ps.close_needed = true;
}

/* A pool with another session_state had it, or a process that did not ask. */
static void distrust(struct server *s, const struct snapshot_server *in)
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

/* Queries of our own that a server hands over amid. */
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
	/* it may have whole messages, of which the socket tells nothing */
	if (s->carry.len > 0)
		stream_reread(&s->stream);
	if (set_address(s, in, e) < 0 || read_owed(s, in, e) < 0 ||
	    read_welcome(s, in, e) < 0)
		return -1;
	prepared_skip(s->ss->prepared, in->last);
	s->unnamed = in->unnamed;
	sessions_skip_unnamed(s->ss, in->last_unnamed);
	keep_set_pins(s, in->pins);
	/* to which channels, it is asked again */
	s->trace.marked = s->trace.marked || (in->pins & PIN_LISTEN) != 0;
	learn_names(s, &in->names);
	if (snapshot_read_baggage(s->ss, &in->has, &s->keep.has, e) < 0 ||
	    snapshot_read_baggage(s->ss, &in->base, &s->keep.base, e) < 0)
		return -1;
	keep_note_path(s);
	distrust(s, in);
	s->prepared.forgotten = in->forgotten;
	/* another worker, whose statements come here too, may know them */
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
