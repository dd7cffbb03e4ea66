/* handover_save.c - sessions as bytes: written.
 * SPDX-License-Identifier: ISC */
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/writer.h"
#include "session/client.h"
#include "session/handover.h"
#include "session/handover_parts.h"
#include "session/relay_parts.h"
#include "session/server.h"
#include "session/sessions.h"

/* --- what can go --- */

/*
 * Of a statement whose result has changed its clients must be told; but a text
 * stands for one statement only where we go.
 */
static bool has_retired(const struct client *c)
{
	const struct prepared_name *n;
	unsigned at = 0;

	while ((n = slots_next(c->statements, &at)) != NULL) {
		if (n->stmt->retired)
			return true;
	}
	return false;
}

bool handover_takes_client(const struct client *c)
{
	return c->login == NULL && c->console == NULL &&
	    c->stream.tls == NULL && c->replication == REPLICATION_NONE &&
	    (c->pc.state == CLIENT_ACTIVE || c->pc.state == CLIENT_WAITING) &&
	    !has_retired(c) && (c->pc.server == NULL ||
	    server_of(c->pc.server)->stream.tls == NULL);
}

bool handover_takes_server(const struct server *s)
{
	return s->phase == SERVER_PHASE_POOLED && s->stream.tls == NULL &&
	    (s->ps.state == SERVER_IDLE || (s->ps.state == SERVER_ACTIVE &&
	    s->ps.client != NULL &&
	    handover_takes_client(client_of(s->ps.client))));
}

static bool is_plain(const struct client *c, const struct server *s)
{
	if (c != NULL && (c->statements != NULL || c->carry.len > 0 ||
	    c->skip > 0 || c->discard || c->key_len != CLIENT_KEY_BYTES ||
	    c->pc.state != CLIENT_ACTIVE))
		return false;
	return s == NULL || (s->prepared.count == 0 &&
	    track_is_empty(&s->track) && !s->track.doubt);
}

bool handover_is_plain_client(const struct client *c)
{
	return is_plain(c, c->pc.server == NULL ? NULL :
	    server_of(c->pc.server));
}

bool handover_is_plain_server(const struct server *s)
{
	return is_plain(s->ps.client == NULL ? NULL :
	    client_of(s->ps.client), s);
}

/* --- pieces --- */

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

/* A list is made on its own, as its length stands before it. */
static void put_list(struct writer *w, struct writer *list)
{
	put_blob(w, list->at, list->len);
	w->failed = w->failed || list->failed;
	writer_fini(list);
}

static void put_params(struct writer *w, const struct params_table *t,
    const struct params *set)
{
	struct writer list;

	writer_init(&list, w->cap);
	for (int i = 0; set != NULL && i < params_count(t); i++) {
		writer_str(&list, params_name(t, i));
		put_text(&list, params_get(set, i));
	}
	put_list(w, &list);
}

static void put_statement(struct writer *w, const char *name,
    const struct prepared *stmt)
{
	writer_str(w, name);
	writer_str(w, stmt->name);
	put_blob(w, stmt->body, stmt->len);
}

/* --- sessions --- */

static unsigned client_flags(const struct client *c)
{
	unsigned flags = 0;

	flags |= c->pc.state == CLIENT_WAITING ? HANDOVER_WAITING : 0;
	flags |= c->hold ? HANDOVER_HOLD : 0;
	flags |= c->tried ? HANDOVER_TRIED : 0;
	flags |= c->forgets ? HANDOVER_FORGETS : 0;
	flags |= c->discard ? HANDOVER_DISCARD : 0;
	flags |= relay_translates(c) ? HANDOVER_TRANSLATES : 0;
	return flags;
}

void handover_write_client(const struct client *c, struct writer *w)
{
	const struct prepared_name *n;
	unsigned at = 0;
	struct writer list;

	writer_u8(w, HANDOVER_VERSION);
	writer_u8(w, 'C');
	writer_u32(w, client_flags(c));
	put_64(w, c->born);
	put_64(w, c->request_time);
	put_64(w, c->query_start);
	put_64(w, c->xact_start);
	put_64(w, c->pc.wait_since);
	writer_u32(w, c->skip);
	put_blob(w, c->key, c->key_len);
	put_params(w, c->ss->params, c->params);
	writer_init(&list, w->cap);
	while ((n = slots_next(c->statements, &at)) != NULL)
		put_statement(&list, n->name, n->stmt);
	put_list(w, &list);
	put_blob(w, c->carry.at, c->carry.len);
	put_text(w, c->leaving);
	put_text(w, c->leaving_portal);
	put_64(w, (int64_t)prepared_last(c->ss->prepared));
}

static unsigned server_flags(const struct server *s)
{
	unsigned flags = 0;

	flags |= s->ps.close_needed ? HANDOVER_CLOSE : 0;
	flags |= s->track.ready ? HANDOVER_READY : 0;
	flags |= s->track.copy_in ? HANDOVER_COPY_IN : 0;
	flags |= s->track.aborted ? HANDOVER_ABORTED : 0;
	flags |= s->track.doubt ? HANDOVER_DOUBT : 0;
	flags |= s->ps.pool->old_protocol ? HANDOVER_OLD : 0;
	return flags;
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
	writer_u8(w, s->addr.family);
	writer_u16(w, s->addr.port);
	writer_u32(w, (uint32_t)s->addr.pid);
	writer_bytes(w, s->addr.ip, sizeof s->addr.ip);
}

static void put_owed(struct writer *w, const struct track *t)
{
	struct writer list;

	writer_init(&list, w->cap);
	for (unsigned i = 0; i < t->count; i++) {
		writer_u8(&list, (uint8_t)track_req(t, i)->type);
		writer_u8(&list, track_req(t, i)->how);
		writer_u32(&list, track_req(t, i)->tag);
	}
	put_list(w, &list);
}

void handover_write_server(const struct server *s, struct writer *w)
{
	const struct welcome *const welcome = s->ps.pool->welcome;
	const struct prepared_use *use;
	struct writer list;

	writer_u8(w, HANDOVER_VERSION);
	writer_u8(w, 'S');
	writer_u32(w, server_flags(s));
	put_64(w, s->ps.born);
	put_64(w, s->ps.used);
	put_blob(w, s->key, s->key_len);
	put_params(w, s->ss->params, s->params);
	writer_init(&list, w->cap);
	/* least recently used first: added in this order it is the same list */
	for (use = s->prepared.lru; use != NULL; use = use->next) {
		if (!use->stmt->retired)
			put_statement(&list, "", use->stmt);
	}
	put_list(w, &list);
	put_place(w, s);
	writer_u8(w, (uint8_t)s->track.status);
	put_owed(w, &s->track);
	writer_u8(w, welcome != NULL);
	put_params(w, s->ss->params, welcome != NULL ? welcome->params : NULL);
	put_blob(w, welcome != NULL ? welcome->bytes : NULL,
	    welcome != NULL ? welcome->len : 0);
	put_64(w, (int64_t)prepared_last(s->ss->prepared));
}
