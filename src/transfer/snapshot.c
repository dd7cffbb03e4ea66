/* snapshot.c - writes sessions as bytes.
 * SPDX-License-Identifier: ISC */
#include <utlist.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "broker/canceler.h"
#include "notify/channels.h"
#include "pool/hosts.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "relay/relay.h"
#include "relay/relay_schema.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "state/custom_table.h"
#include "transfer/snapshot.h"
#include "transfer/snapshot_parts.h"

static void put_64(struct writer *w, int64_t value)
{
	writer_u32(w, (uint32_t)((uint64_t)value >> 32));
	writer_u32(w, (uint32_t)value);
}

static void put_blob(struct writer *w, const void *p, size_t n)
{
	writer_u32(w, (uint32_t)n);
	writer_bytes(w, p, n);
}

static void put_text(struct writer *w, const char *s)
{
	writer_u8(w, s != NULL);
	if (s != NULL)
		writer_str(w, s);
}

static void put_baggage(struct writer *w, const struct baggage *b)
{
	size_t len = 0;
	const char *const bytes = b == NULL ? NULL : baggage_bytes(b, &len);

	writer_u8(w, b != NULL);
	put_blob(w, bytes, len);
}

/* A list is written apart first, because its length stands before it. */
static void put_list(struct writer *w, struct writer *list)
{
	put_blob(w, list->at, list->len);
	w->failed = w->failed || list->failed;
	writer_fini(list);
}

/* flags: enumerators of SNAPSHOT_RETIRED, for what stmt does not tell. */
static void put_statement(struct writer *w, const char *name,
    const struct prepared *stmt, unsigned flags)
{
	writer_str(w, name);
	writer_str(w, stmt->name);
	put_blob(w, stmt->body, stmt->len);
	writer_u8(w, (uint8_t)(flags | (stmt->retired ? SNAPSHOT_RETIRED : 0) |
	    (stmt->unsure ? SNAPSHOT_UNSURE : 0)));
	put_baggage(w, stmt->dialect);
}

/* Written after the statement. */
static void put_shape(struct writer *w, const struct prepared_shape *shape)
{
	writer_u32(w, shape->params);
	writer_u32(w, shape->columns);
	put_64(w, shape->at);
}

static void put_queued(struct writer *w, const struct stream *s)
{
	const size_t n = stream_queued(s);
	void *const p = mem_alloc(n + 1);

	if (p == NULL) {
		w->failed = true;
		return;
	}
	stream_copy_queued(s, p);
	put_blob(w, p, n);
	secret_wipe(p, n);
	mem_free(p);
}

static unsigned mode_flag(const struct pool_server *ps)
{
	return ps->mode == POOL_SESSION ? SNAPSHOT_SESSION :
	    ps->mode == POOL_STATEMENT ? SNAPSHOT_STATEMENT : 0;
}

/* In a move, the client may not have heard everything from the new source. */
static unsigned hears_flag(const struct listening *g)
{
	if (g->token == 0 && g->hears == HEARS_LISTENER)
		return 0;
	return g->hears == HEARS_SERVER && g->client->pc.server != NULL &&
	    (g->marks & MARK_SERVER) == 0 ? SNAPSHOT_HEARS_SERVER :
	    SNAPSHOT_HEARS_NOBODY;
}

static unsigned listening_flags(const struct listening *g)
{
	if (g == NULL)
		return 0;
	return hears_flag(g) | (g->always ? SNAPSHOT_ALWAYS : 0) |
	    (g->expects ? SNAPSHOT_EXPECTS : 0);
}

static unsigned client_flags(const struct client *c)
{
	unsigned flags = 0;

	flags |= c->pc.state == CLIENT_WAITING ? SNAPSHOT_WAITING : 0;
	flags |= c->pc.state == CLIENT_WELCOME ? SNAPSHOT_WELCOME : 0;
	flags |= c->rest.dropped ? SNAPSHOT_DROP : 0;
	flags |= c->notified ? SNAPSHOT_NOTIFIED : 0;
	flags |= client_is_behind(c) ? SNAPSHOT_BEHIND : 0;
	flags |= relay_translates(c) ? SNAPSHOT_TRANSLATES : 0;
	flags |= c->pc.server != NULL ? mode_flag(c->pc.server) : 0;
	flags |= listening_flags(c->listening);
	return flags;
}

static void put_addr(struct writer *w, const struct net_addr *a)
{
	writer_u8(w, a->family);
	writer_u16(w, a->port);
	writer_u32(w, (uint32_t)a->pid);
	writer_bytes(w, a->ip, sizeof a->ip);
}

/* What is not settled is asked for again. */
static void put_channels(struct writer *w, const struct listening *g)
{
	const struct subscription *it;
	struct writer list;

	writer_init(&list, w->cap);
	DL_FOREACH2(g == NULL ? NULL : g->own, it, own_next) {
		if (it->is != TO_COME)
			writer_str(&list, it->channel->name);
	}
	put_list(w, &list);
	put_blob(w, g == NULL ? NULL : g->waiting.at,
	    g == NULL ? 0 : g->waiting.len);
	put_blob(w, g == NULL ? NULL : g->early.at,
	    g == NULL ? 0 : g->early.len);
}

void snapshot_write_client(const struct client *c, struct writer *w)
{
	const struct prepared_name *n;
	unsigned at = 0;
	struct writer list;

	writer_u8(w, SNAPSHOT_VERSION);
	writer_u8(w, 'C');
	writer_u32(w, client_flags(c));
	put_64(w, c->born);
	put_64(w, c->request_time);
	put_64(w, c->query_start);
	put_64(w, c->xact_start);
	put_64(w, c->waited);
	put_64(w, c->pc.wait_since);
	writer_u32(w, c->rest.bytes);
	put_addr(w, &c->addr);
	put_blob(w, c->key, c->key_len);
	params_list_write(c->ss->params, c->params, w);
	writer_init(&list, w->cap);
	while ((n = slots_next(c->statements, &at)) != NULL) {
		put_statement(&list, n->name, n->stmt,
		    n->lost ? SNAPSHOT_LOST : 0);
		put_shape(&list, &n->told);
	}
	put_list(w, &list);
	put_blob(w, c->carry.at, c->carry.len);
	writer_init(&list, w->cap);
	relay_state_save(&c->relay, c->ss->params, &list);
	put_list(w, &list);
	put_text(w, slow_text(c));
	put_queued(w, &c->stream);
	put_64(w, (int64_t)prepared_last(c->ss->prepared));
	put_baggage(w, c->baggage);
	put_baggage(w, c->brought);
	put_channels(w, c->listening);
}

/* Names that were learned in this transaction are in no set yet. */
static void put_names(struct writer *w, const struct server *s)
{
	struct writer list;
	const char *name;
	struct custom_count at = { 0 };

	writer_init(&list, w->cap);
	while ((trace_is_any(&s->trace) || s->own_query == OWN_QUERY_PROBE) &&
	    (name = custom_table_next(s, &at)) != NULL)
		writer_str(&list, name);
	put_list(w, &list);
}

static unsigned brought_flags(const struct server *s)
{
	unsigned flags = s->ps.state == SERVER_LISTENING ?
	    SNAPSHOT_LISTENING : 0;

	flags |= s->keep.brought == BROUGHT ? SNAPSHOT_BROUGHT : 0;
	flags |= s->keep.brought > BROUGHT ? SNAPSHOT_BROUGHT_INSIDE : 0;
	return flags;
}

static unsigned role_flag(const struct server *s)
{
	static const unsigned flags[] = {
		[FACT_NO] = SNAPSHOT_PRIMARY,
		[FACT_YES] = SNAPSHOT_STANDBY,
	};

	return flags[s->standby];
}

static unsigned dialect_flags(const struct server *s)
{
	const struct dialect *const d = &s->dialect;

	return (s->schema_changed != SCHEMA_SAME || d->unseen || d->astray ||
	    d->trails || d->inside || d->pending || s->trace.calls ?
	    SNAPSHOT_SCHEMA : 0u) | (d->parsed && s->track.count > 0 ? SNAPSHOT_CLOSE : 0u);
}

/*
 * The new process does not read the rest of a long text, so that text may do
 * anything.
 */
static unsigned text_flags(const struct server *s)
{
	return s->ps.client != NULL &&
	    client_of(s->ps.client)->relay.text != NULL ?
	    SNAPSHOT_CLOSE | SNAPSHOT_STAINED : 0u;
}

static unsigned server_flags(const struct server *s)
{
	unsigned flags = text_flags(s);

	/* the new process does not learn when a cancel request ends */
	flags |= s->ps.close_needed || s->ps.cancels > 0 ? SNAPSHOT_CLOSE : 0;
	flags |= canceler_is_wanted(s) ? SNAPSHOT_CANCEL : 0;
	flags |= s->track.ready ? SNAPSHOT_READY : 0;
	flags |= s->track.copy_in ? SNAPSHOT_COPY_IN : 0;
	flags |= s->track.aborted ? SNAPSHOT_ABORTED : 0;
	flags |= s->track.uncertain ? SNAPSHOT_UNCERTAIN : 0;
	flags |= s->ps.pool->old_protocol ? SNAPSHOT_OLD : 0;
	flags |= s->rest.dropped ? SNAPSHOT_DROP : 0;
	flags |= s->superuser ? SNAPSHOT_SUPERUSER : 0;
	flags |= s->ps.stained || trace_is_any(&s->trace) || s->trace.lone ?
	    SNAPSHOT_STAINED : 0;
	flags |= s->ps.pool->limits.state != STATE_FORGET ?
	    SNAPSHOT_WATCHED : 0;
	flags |= s->ps.client != NULL ? SNAPSHOT_LINKED : 0;
	flags |= mode_flag(&s->ps) | dialect_flags(s);
	return flags | brought_flags(s) | role_flag(s);
}

/*
 * The new process does not know the text of the only request that may have
 * changed settings.
 */
static void put_trace(struct writer *w, const struct trace *trace)
{
	struct trace t = *trace;
	uint32_t bits = 0, bit = 1;

	t.marked = t.marked || t.lone;
#define PUT(field) bits |= t.field ? bit : 0; bit <<= 1;
	SNAPSHOT_TRACE(PUT)
#undef PUT
	writer_u32(w, bits);
	writer_u32(w, t.sets);
	writer_u32(w, t.local);
	writer_u8(w, t.pins);
}

static void put_keep(struct writer *w, const struct keep *k)
{
	uint32_t bits = 0, bit = 1;

#define PUT(field) bits |= k->field ? bit : 0; bit <<= 1;
	SNAPSHOT_KEEP(PUT)
#undef PUT
	put_baggage(w, k->has);
	put_baggage(w, k->base);
	writer_u32(w, bits);
	writer_u8(w, k->pins);
	writer_u8(w, k->lending);
	writer_u32(w, k->bring);
	writer_u32(w, k->resets);
	writer_u32(w, k->bound);
}

static void put_place(struct writer *w, const struct server *s)
{
	const struct config_db *const db = s->ps.pool->key.db->conf;

	put_text(w, db->host);
	writer_u32(w, (uint32_t)db->port);
	put_text(w, db->dbname);
	put_text(w, db->user);
	put_text(w, db->connect_query);
	writer_u8(w, (uint8_t)s->host.kind);
	writer_str(w, s->host.text);
	put_addr(w, &s->addr);
}

static void put_op(struct writer *w, const struct prepared_op *op)
{
	writer_u8(w, op != NULL);
	if (op == NULL)
		return;
	writer_u32(w, op->changes);
	writer_u8(w, op->stmt != NULL);
	if (op->stmt == NULL) {
		writer_str(w, op->name);
		return;
	}
	put_statement(w, op->name, op->stmt, 0);
	put_shape(w, &op->shape);
}

static void put_owed(struct writer *w, const struct track *t)
{
	struct writer list;

	writer_init(&list, w->cap);
	for (unsigned i = 0; i < t->count; i++) {
		writer_u8(&list, (uint8_t)track_req(t, i)->type);
		writer_u8(&list, track_req(t, i)->how);
		writer_u8(&list, track_req(t, i)->own);
		writer_u32(&list, track_req(t, i)->tag);
		put_op(&list, track_op(t, i));
	}
	put_list(w, &list);
}

void snapshot_write_server(const struct server *s, struct writer *w)
{
	const struct welcome *const welcome = s->ps.pool->welcome;
	const struct prepared_use *use;
	struct writer list;

	writer_u8(w, SNAPSHOT_VERSION);
	writer_u8(w, 'S');
	writer_u32(w, server_flags(s));
	put_64(w, s->ps.born);
	put_64(w, s->ps.used);
	writer_u8(w, (uint8_t)s->own_query);
	writer_u32(w, s->rest.bytes);
	put_blob(w, s->key, s->key_len);
	params_list_write(s->ss->params, s->params, w);
	put_64(w, (int64_t)s->origin.silent);
	params_list_write(s->ss->params, s->origin.set, w);
	writer_init(&list, w->cap);
	/*
	 * the least recently used first: added in this order, they give the
	 * same list
	 */
	for (use = s->prepared.lru; use != NULL; use = use->next) {
		put_statement(&list, "", use->stmt, use->generation ==
		    relay_schema_generation(s) ? SNAPSHOT_CURRENT : 0);
		put_shape(&list, &use->shape);
	}
	put_list(w, &list);
	writer_u32(w, s->prepared.forgotten);
	put_blob(w, s->carry.at, s->carry.len);
	put_queued(w, &s->stream);
	put_place(w, s);
	writer_u8(w, (uint8_t)s->track.status);
	put_owed(w, &s->track);
	writer_u8(w, welcome != NULL);
	params_list_write(s->ss->params,
	    welcome != NULL ? welcome->params : NULL, w);
	put_blob(w, welcome != NULL ? welcome->bytes : NULL,
	    welcome != NULL ? welcome->len : 0);
	put_64(w, (int64_t)prepared_last(s->ss->prepared));
	put_keep(w, &s->keep);
	put_trace(w, &s->trace);
	put_names(w, s);
	put_blob(w, s->asked.at, s->asked.len);
	put_64(w, (int64_t)s->unnamed);
	put_64(w, (int64_t)s->ss->last_unnamed);
	put_64(w, (int64_t)s->ps.pool->startup);
}
