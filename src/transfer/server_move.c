/* server_move.c - an idle server moves to the same pool on another worker.
 * SPDX-License-Identifier: ISC */
#include "transfer/server_move.h"

#include <string.h>
#include <utlist.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/tls.h"
#include "pool/hosts.h"
#include "pool/pool.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "proto/unnamed.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/tls_setup.h"

#define LUGGAGE_MAX (1 << 20)	/* bytes: two turns copy them and create the
				 * objects again */

/*
 * A server on its way, and what must be created again: names of its pool,
 * texts.
 */
struct parcel {
	struct server *server;
	unsigned from;			/* the sending worker */
	struct pool_slots slots;
	struct writer luggage;
};

enum value { VALUE_NONE, VALUE_UNKNOWN, VALUE_TEXT };

/* All workers track the same parameters, with the same numbers. */
static void pack_params(struct writer *w, const struct params *set)
{
	const int n = set == NULL ? 0 :
	    params_count(params_table_of(set));

	writer_u8(w, (uint8_t)n);
	for (int i = 0; i < n; i++) {
		const char *const value = params_get(set, i);

		writer_u8(w, value == NULL ? VALUE_NONE :
		    value == params_unknown() ? VALUE_UNKNOWN : VALUE_TEXT);
		if (value != NULL)
			writer_str(w, value);
	}
}

/* out NULL: the values are read and dropped. Returns 0, or -1: no memory. */
static int unpack_params(struct reader *r, struct params_table *t,
    struct params **out)
{
	const char *values[PARAMS_MAX] = { NULL };
	const int n = reader_u8(r);

	for (int i = 0; i < n; i++) {
		const enum value kind = (enum value)reader_u8(r);

		if (kind == VALUE_NONE)
			continue;
		values[i] = reader_str(r);
		if (kind == VALUE_UNKNOWN)
			values[i] = params_unknown();
	}
	if (out == NULL)
		return 0;
	*out = n == 0 ? NULL : params_of(t, values);
	return n > 0 && *out == NULL ? -1 : 0;
}

static void server_move_pack_baggage(struct writer *w, const struct baggage *b)
{
	size_t len = 0;
	const char *const bytes = b == NULL ? NULL : baggage_bytes(b, &len);

	writer_u8(w, b != NULL);
	writer_u32(w, (uint32_t)len);
	writer_bytes(w, bytes, len);
}

static int server_move_unpack_baggage(struct reader *r, struct baggage_table *t,
    struct baggage **out)
{
	const bool is_there = reader_u8(r) != 0;
	const uint32_t len = reader_u32(r);
	const uint8_t *const bytes = reader_bytes(r, len);

	*out = is_there ? baggage_get(t, bytes, len) : NULL;
	return is_there && *out == NULL ? -1 : 0;
}

static void server_move_pack_statements(struct writer *w,
    const struct prepared_uses *u)
{
	const struct prepared_use *use;

	DL_FOREACH(u->lru, use) {
		const struct prepared *const stmt = use->stmt;

		writer_str(w, stmt->name);
		writer_u32(w, stmt->len);
		writer_bytes(w, stmt->body, stmt->len);
		server_move_pack_baggage(w, stmt->dialect);
		writer_u32(w, (uint32_t)(use->generation >> 32));
		writer_u32(w, (uint32_t)use->generation);
		writer_bytes(w, &use->shape, sizeof use->shape);
	}
}

/*
 * Clients never get this object. A server that stayed here may still have the
 * statement by this name, though it was forgotten. NULL: no memory.
 */
static struct prepared *server_move_find_statement(struct prepared_table *t,
    const char *name, struct prepared_text text)
{
	struct prepared *const known = prepared_lookup(t, text);

	if (known != NULL && strcmp(known->name, name) == 0)
		return known;
	prepared_unref(known);
	return prepared_adopt_retired(t, name, text);
}

/* Reads a statement of the server, with its name there. */
static bool server_move_adopt(struct server *s, struct reader *r)
{
	struct prepared_table *const t = s->ss->prepared;
	const char *const name = reader_str(r);
	const uint32_t len = reader_u32(r);
	const uint8_t *const body = reader_bytes(r, len);
	struct baggage *dialect;

	if (server_move_unpack_baggage(r, s->ss->baggage, &dialect) < 0)
		return false;
	struct prepared *const stmt = !unnamed_make_room(s->ss->unnamed, t,
	    prepared_text_bytes(len), sessions_statement_memory(s->ss)) ?
	    NULL :
	    server_move_find_statement(t, name,
	    (struct prepared_text){ .dialect = dialect,
	    .body = body, .len = len });
	const uint64_t high = (uint64_t)reader_u32(r) << 32;
	const uint64_t generation = high | reader_u32(r);
	const void *const shape = reader_bytes(r, sizeof(struct prepared_shape));
	const bool done = stmt != NULL &&
	    prepared_uses_add(&s->prepared, stmt) == 0;

	struct prepared_use *const use = !done ? NULL :
	    prepared_uses_touch(&s->prepared, stmt);

	if (use != NULL && shape != NULL) {
		use->generation = generation;
		memcpy(&use->shape, shape, sizeof use->shape);
	}

	prepared_unref(stmt);
	baggage_unref(&dialect);
	return done;
}

/*
 * Without memory for a statement, the connection cannot stay: the server would
 * be sent a text under a name that it already has.
 */
static int server_move_unpack_statements(struct server *s, struct reader *r)
{
	while (reader_left(r) > 0) {
		if (!server_move_adopt(s, r))
			return -1;
	}
	return 0;
}

static void pack_welcome(struct writer *w, const struct welcome *g)
{
	writer_u8(w, g != NULL);
	if (g == NULL)
		return;
	pack_params(w, g->params);
	writer_u32(w, (uint32_t)g->len);
	writer_bytes(w, g->bytes, g->len);
}

/*
 * A pool that waits for its welcome may never have room for a server of its
 * own. This server brings the welcome. Returns 0, or -1: no memory.
 */
static int unpack_welcome(struct reader *r, struct pool *p,
    struct params_table *t)
{
	const bool is_there = reader_u8(r) != 0;
	const bool is_new = is_there && p != NULL && p->welcome == NULL;
	struct params *set = NULL;

	if (!is_there)
		return 0;
	const int rc = unpack_params(r, t, is_new ? &set : NULL);
	const uint32_t len = reader_u32(r);
	const uint8_t *const bytes = reader_bytes(r, len);

	return rc < 0 || !is_new ? rc :
	    pool_put_welcome(p, set, bytes, len);
}

/* The pool of a server. welcome NULL: not known. */
struct names {
	const char *database, *user;
	const struct welcome *welcome;
};

/* Returns 0, or -1: no memory. */
static int server_move_pack(struct writer *w, const struct server *s,
    struct names of)
{
	writer_init(w, LUGGAGE_MAX);
	writer_str(w, of.database);
	writer_str(w, of.user);
	pack_params(w, s->params);
	pack_params(w, s->origin.set);
	server_move_pack_baggage(w, s->keep.has);
	server_move_pack_baggage(w, s->keep.base);
	writer_u8(w, s->keep.known.names[0]);
	pack_welcome(w, of.welcome);
	server_move_pack_statements(w, &s->prepared);
	if (!w->failed)
		return 0;
	writer_fini(w);
	return -1;
}

/* p NULL: the server goes on to the worker that has such a pool. */
static int server_move_unpack(struct server *s, struct reader *r,
    struct pool *p)
{
	struct sessions *const ss = s->ss;

	if (unpack_params(r, ss->params, &s->params) < 0 ||
	    unpack_params(r, ss->params, &s->origin.set) < 0 ||
	    server_move_unpack_baggage(r, ss->baggage, &s->keep.has) < 0 ||
	    server_move_unpack_baggage(r, ss->baggage, &s->keep.base) < 0)
		return -1;
	s->keep.known.names[0] = reader_u8(r);
	if (unpack_welcome(r, p, ss->params) < 0)
		return -1;
	return server_move_unpack_statements(s, r);
}

static bool server_move_is_at_rest(const struct server *s)
{
	const struct stream *const st = &s->stream;

	return track_is_done(&s->track) && s->track.status == 'I' &&
	    s->rest.bytes == 0 && s->carry.len == 0 && !st->paused &&
	    !st->hup && !st->broken && !stream_is_blocked(st) &&
	    !timeout_running(&s->timer);
}

static bool has_cancel(const struct server *s)
{
	return s->ps.cancels > 0 || s->canceler != NULL ||
	    s->target != NULL || s->cancel_wanted;
}

/* Does s have something that cannot be moved, or that is on its way? */
static bool is_bound(const struct server *s)
{
	return s->keep.pins != 0 || s->keep.flight != NULL ||
	    s->keep.brought != BROUGHT_NOTHING;
}

bool server_may_leave(const struct server *s)
{
	const struct sessions *const ss = s->ss;

	return s->phase == SERVER_PHASE_POOLED &&
	    s->own_query == OWN_QUERY_NONE &&
	    s->ps.state == SERVER_IDLE && s->ps.client == NULL &&
	    !s->ps.close_needed && !s->ps.dedicated && !s->ps.stained &&
	    !has_cancel(s) && !is_bound(s) && server_move_is_at_rest(s) &&
	    !ss->suspended && !pool_is_paused(s->ps.pool, ss->catalog);
}

/* Removes s from the tables and the loop. The socket stays open. */
static void server_move_leave(struct server *s)
{
	params_unref(&s->params);
	params_unref(&s->origin.set);
	keep_fini(s);
	dialect_fini(&s->dialect);
	prepared_uses_clear(&s->prepared);
	carry_fini(&s->carry);
	/* its client has gone */
	carry_fini(&s->asked);
	tls_leave(&s->stream);
	stream_leave(&s->stream);
}

/* Removes s from all lists. Its places under limits stay taken. */
static struct pool_slots server_move_delist(struct server *s, unsigned to)
{
	struct sessions *const ss = s->ss;

	cursor_list_remove(&ss->all_servers, &s->node);
	ss->servers--;
	ss->servers_out++;
	return pool_server_leave(&s->ps, to);
}

/*
 * The server has too much to carry. The other worker opens a new one instead.
 */
static void server_move_give_up(struct server *s)
{
	if (time_now() - s->ps.born >= s->ps.pool->limits.handover_delay)
		server_close(s, CLOSE_EVICTED);
}

bool server_depart(struct server *s, unsigned to)
{
	const struct client_ops *const ops = &s->ss->client_ops;
	void *const app = s->ss->app;
	const struct pool_key *const key = &s->ps.pool->key;
	struct parcel *const p = s->prepared.forgotten == 0 &&
	    ops->may_mail(app, to) ? mem_alloc(sizeof *p) : NULL;

	if (p == NULL)
		return false;
	if (server_move_pack(&p->luggage, s, (struct names){
	    key->db->name, key->user->name, s->ps.pool->welcome }) < 0) {
		mem_free(p);
		server_move_give_up(s);
		return false;
	}
	if (log_wants(LEVEL_DEBUG))
		log_at(LEVEL_DEBUG, &s->who, "goes to worker %u", to);
	p->server = s;
	p->from = s->ss->worker;
	server_move_leave(s);
	p->slots = server_move_delist(s, to);
	s->ss = NULL;
	ops->mail(app, p, to);
	return true;
}

/* NULL: no such pool, or it is being removed. */
static struct pool *server_move_find_pool(const struct sessions *ss,
    struct names of)
{
	struct catalog *const c = ss->catalog;
	struct database *const db = catalog_find_database(c, of.database);
	struct user *const user = catalog_find_user(c, of.user);

	return db == NULL || user == NULL ? NULL :
	    catalog_find_pool(c, db, user);
}

/* Returns 0, or -1: no memory. The server can be closed in both cases. */
static int server_move_join(struct server *s, const struct pool *p)
{
	struct sessions *const ss = s->ss;
	const struct tls_target *const t = p == NULL ||
	    tls_state(&s->stream) == TLS_NONE ? NULL :
	    tls_setup_find(ss->tls, p->key.db->conf);
	const int rc = tls_join(&s->stream, t == NULL ? NULL : t->context);

	return stream_join(&s->stream, ss->loop) < 0 ? -1 : rc;
}

static void server_move_enlist(struct server *s, struct pool *pool,
    struct pool_slots *slots)
{
	struct sessions *const ss = s->ss;

	pool_server_join(&s->ps, pool, slots);
	cursor_list_add(&ss->all_servers, &s->node);
	ss->servers++;
	ss->servers_in++;
}

/*
 * For tests that force moves: a worker without such a pool has the server for a
 * moment.
 */
static bool forward(struct parcel *p, struct reader *r, struct names of)
{
	struct server *const s = p->server;
	struct sessions *const ss = s->ss;
	struct writer w;

	if (!ss->forced || p->from == ss->worker ||
	    server_move_unpack(s, r, NULL) < 0 || s->prepared.forgotten > 0 ||
	    !ss->client_ops.may_mail(ss->app, p->from) ||
	    server_move_pack(&w, s, of) < 0)
		return false;
	writer_fini(&p->luggage);
	p->luggage = w;
	server_move_leave(s);
	s->ss = NULL;
	/* only back to its sender, if the pool is gone */
	ss->client_ops.mail(ss->app, p, p->from);
	return true;
}

/* rc: the result of server_move_join(). */
static void settle_in(struct parcel *p, struct pool *pool, struct reader *r,
    int rc)
{
	struct server *const s = p->server;

	server_move_enlist(s, pool, &p->slots);
	if (rc < 0 || server_move_unpack(s, r, pool) < 0)
		server_close(s, CLOSE_OUT_OF_MEMORY);
	else	/* it may have been closed on the way */
		stream_begin(&s->stream);
}

struct pool *server_arrive(struct sessions *ss, struct parcel *p)
{
	struct server *const s = p->server;
	struct reader r;

	reader_init(&r, p->luggage.at, p->luggage.len);
	const char *const database = reader_str(&r);
	const struct names of = { database, reader_str(&r), NULL };
	struct pool *const pool = server_move_find_pool(ss, of);

	s->ss = ss;
	const int rc = server_move_join(s, pool);

	if (pool == NULL && rc == 0 && forward(p, &r, of))
		return NULL;
	if (pool != NULL) {
		settle_in(p, pool, &r, rc);
	} else {
		pool_slots_lose(&p->slots);
		server_lose(s);
	}
	writer_fini(&p->luggage);
	mem_free(p);
	return pool;
}
