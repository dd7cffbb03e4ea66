/* client_move.c - a client moves to another worker, between two transactions.
 * SPDX-License-Identifier: ISC */
#include "transfer/client_move.h"

#include <string.h>

#include "base/err.h"
#include "base/ledger.h"
#include "base/log.h"
#include "io/tls.h"
#include "pool/catalog.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "relay/relay_own.h"
#include "session/client.h"
#include "session/roam.h"
#include "session/sessions.h"
#include "upstream/tls_setup.h"

#define LUGGAGE_MAX (1 << 20)	/* bytes: two turns copy them and create the
				 * objects again */

static void pack_bytes(struct writer *w, const void *p, size_t n)
{
	writer_u32(w, (uint32_t)n);
	writer_bytes(w, p, n);
}

static void pack_baggage(struct writer *w, const struct baggage *b)
{
	size_t len = 0;
	const char *const bytes = b == NULL ? NULL : baggage_bytes(b, &len);

	writer_u8(w, b != NULL);
	pack_bytes(w, bytes, len);
}

/* NULL: there was none, or no memory; rc tells which. */
static struct baggage *unpack_baggage(struct reader *r,
    struct baggage_table *t, int *rc)
{
	const bool is_there = reader_u8(r) != 0;
	const uint32_t len = reader_u32(r);
	const uint8_t *const bytes = reader_bytes(r, len);
	struct baggage *const b = is_there ? baggage_get(t, bytes, len) : NULL;

	if (is_there && b == NULL)
		*rc = -1;
	return b;
}

static void pack_statements(struct writer *w, const struct slots *names)
{
	const struct prepared_name *n;
	unsigned at = 0;

	while ((n = slots_next(names, &at)) != NULL) {
		writer_str(w, n->name);
		writer_u8(w, n->lost);
		writer_bytes(w, &n->told, sizeof n->told);
		writer_u8(w, n->stmt->retired);
		writer_u8(w, n->stmt->unsure);
		pack_bytes(w, n->stmt->body, n->stmt->len);
		pack_baggage(w, n->stmt->dialect);
	}
}

static int unpack_statement(struct client *c, struct reader *r)
{
	struct prepared_table *const t = c->ss->prepared;
	const char *const name = reader_str(r);
	const bool lost = reader_u8(r) != 0;
	const void *const told = reader_bytes(r, sizeof(struct prepared_shape));
	const bool retired = reader_u8(r) != 0, unsure = reader_u8(r) != 0;
	const uint32_t len = reader_u32(r);
	const uint8_t *const body = reader_bytes(r, len);
	int bad = 0;
	struct baggage *dialect = unpack_baggage(r, c->ss->baggage, &bad);
	struct prepared *const stmt = bad != 0 ? NULL : retired ?
	    prepared_get_apart(t, prepared_plain(body, len)) :
	    prepared_get(t, (struct prepared_text){ .dialect = dialect,
	    .body = body, .len = len });
	if (stmt != NULL && retired)
		stmt->unsure = unsure;
	const int rc = stmt == NULL ? -1 :
	    prepared_name_add(&c->statements, name, stmt);

	struct prepared_name *const n = rc < 0 ? NULL :
	    prepared_name_find(c->statements, name);

	if (n != NULL && told != NULL) {
		n->lost = lost;
		memcpy(&n->told, told, sizeof n->told);
	}
	c->relay.stands = c->relay.stands || name[0] == '\0';
	prepared_unref(stmt);
	baggage_unref(&dialect);
	return rc;
}

static int unpack_statements(struct client *c, struct reader *r)
{
	while (reader_left(r) > 0) {
		if (unpack_statement(c, r) < 0)
			return -1;
	}
	return 0;
}

static void pack_relay(struct writer *w, const struct client *c)
{
	struct writer bytes;

	writer_init(&bytes, LUGGAGE_MAX);
	relay_state_save(&c->relay, c->ss->params, &bytes);
	pack_bytes(w, bytes.at, bytes.len);
	w->failed = w->failed || bytes.failed;
	writer_fini(&bytes);
}

static int unpack_relay(struct client *c, struct reader *r)
{
	const uint32_t len = reader_u32(r);
	struct err e;

	if (relay_state_load(&c->relay, c->ss->params,
	    (struct relay_bytes){ reader_bytes(r, len), len }, &e) < 0)
		return -1;
	relay_own_came(c);
	return 0;
}

/* Returns 0, or -1: no memory. */
static int pack(struct writer *w, const struct client *c)
{
	writer_init(w, LUGGAGE_MAX);
	writer_str(w, c->db->name);
	writer_str(w, c->user->name);
	writer_str(w, c->pc.pool->key.user->name);
	writer_u8(w, client_is_behind(c));
	params_list_write(c->ss->params, c->params, w);
	pack_relay(w, c);
	pack_baggage(w, c->baggage);
	pack_baggage(w, c->brought);
	pack_statements(w, c->statements);
	if (!w->failed)
		return 0;
	writer_fini(w);
	return -1;
}

/* Returns 0, or -1: no memory. */
static int unpack(struct client *c, struct reader *r)
{
	struct sessions *const ss = c->ss;
	struct reader list;
	int rc = 0;

	c->told = reader_u8(r) != 0 ? UINT32_MAX : 0;
	params_list_read(r, &list);
	c->params = params_empty(ss->params);
	if (c->params == NULL ||
	    params_list_load(ss->params, list, &c->params) < 0 ||
	    unpack_relay(c, r) < 0)
		return -1;
	c->baggage = unpack_baggage(r, ss->baggage, &rc);
	c->brought = unpack_baggage(r, ss->baggage, &rc);
	return rc < 0 ? rc : unpack_statements(c, r);
}

static bool is_read(const struct stream *s)
{
	return !s->paused && !s->hup && !s->broken && !stream_is_blocked(s);
}

/*
 * Is everything over that belongs to a transaction, or to a request that
 * failed?
 */
static bool owes_nothing(const struct client *c)
{
	const struct relay_state *const r = &c->relay;

	return c->pc.server == NULL && c->rest.bytes == 0 &&
	    c->xact_start == 0 && c->query_start == 0 && c->slow == NULL &&
	    !r->hold && !r->execute_holds && !r->discards && !r->repeats &&
	    r->withheld == WITHHELD_NOT && r->resetting == RESET_NONE &&
	    r->dealloc.name == NULL && r->texts == NULL && !c->cut_short;
}

/* A client that listens uses the listener of this worker. */
static bool is_of_pool(const struct client *c)
{
	const struct pool *const p = c->pc.pool;

	return p != NULL && !p->key.db->console && p->peer_id == 0 &&
	    p->limits.mode != POOL_SESSION &&
	    c->listening == NULL && c->replication == REPLICATION_NONE;
}

static bool is_heavy(const struct client *c)
{
	return c->roamer != NULL && c->roamer->stays;
}

bool client_may_leave(const struct client *c)
{
	const struct sessions *const ss = c->ss;

	return ss->others > 0 && !ss->suspended &&
	    c->role == ss->client_ops.relay && c->welcomed &&
	    c->pc.state == CLIENT_ACTIVE && is_of_pool(c) &&
	    owes_nothing(c) && is_read(&c->stream) && !c->has_reserve_fd &&
	    !is_heavy(c) && c->hh.tbl != NULL;
}

bool client_has_worked(const struct client *c)
{
	return c->roamer == NULL || c->roamer->came == 0 ||
	    c->request_time != c->roamer->request_time;
}

usec_t client_here_for(const struct client *c, usec_t now)
{
	return now - (c->roamer == NULL || c->roamer->came == 0 ? c->born :
	    c->roamer->came);
}

/* Its places under limits stay taken during the move. */
static struct ledger_trip take_along(const struct client *c,
    struct ledger *l, unsigned to)
{
	return c->counted && l != NULL ? ledger_send(l, LEDGER_CLIENTS, to) :
	    (struct ledger_trip){ .of = NULL };
}

/* Gives up its place in the pool. */
static void leave_pool(struct client *c, unsigned to)
{
	pool_client_set(&c->pc, CLIENT_LOGIN);
	c->pc.pool = NULL;
	database_count_client(c->db, -1);
	c->roamer->of_user = take_along(c, c->user->share.ledger, to);
	c->roamer->of_database = take_along(c, c->db->share.ledger, to);
	c->db = NULL;
	catalog_release_user(c->ss->catalog, c->user);
	c->user = NULL;
}

/*
 * Removes c from everything of this worker, except the socket and its unread
 * bytes.
 */
static void leave(struct client *c, unsigned to)
{
	struct sessions *const ss = c->ss;

	c->roamer->was_idle = timeout_running(&c->timer);
	timeout_stop(&c->timer);
	leave_pool(c, to);
	HASH_DEL(ss->by_key, c);
	prepared_name_clear(&c->statements);
	params_unref(&c->params);
	baggage_unref(&c->baggage);
	baggage_unref(&c->brought);
	relay_own_fini(c);
	relay_state_fini(&c->relay);
	c->relay = (struct relay_state){ 0 };
	cursor_list_remove(&ss->all_clients, &c->node);
	catalog_count_client(ss->catalog, -1);
	tls_leave(&c->stream);
	stream_leave(&c->stream);
	c->ss = NULL;
}

bool client_depart(struct client *c, unsigned to)
{
	struct sessions *const ss = c->ss;

	if (!ss->client_ops.may_move(ss->app, to) || roam_begin(c) < 0)
		return false;
	if (pack(&c->roamer->luggage, c) < 0) {
		c->roamer->stays = true;
		return false;
	}
	if (log_wants(LEVEL_DEBUG))
		log_at(LEVEL_DEBUG, &c->who, "goes to worker %u", to);
	leave(c, to);
	ss->clients_out++;
	roam_send(c, ss, to);
	return true;
}

/* NULL: there is no such database, or *why says that there is no memory. */
static struct pool *find_pool(const struct client *c, struct reader *r,
    struct user **user, enum close_reason *why)
{
	struct catalog *const cat = c->ss->catalog;
	struct database *const db = catalog_find_database(cat, reader_str(r));

	*why = CLOSE_DATABASE_REMOVED;
	if (db == NULL)
		return NULL;
	*why = CLOSE_OUT_OF_MEMORY;
	const char *const name = reader_str(r), *const of = reader_str(r);
	struct user *const owner = db->is_part ? catalog_find_user(cat, of) :
	    catalog_get_user(cat, of);
	struct pool *const p = owner == NULL ? NULL :
	    db->is_part ? catalog_find_pool(cat, db, owner) :
	    catalog_get_pool(cat, db, owner);

	*user = p == NULL ? NULL : catalog_get_user(cat, name);
	return *user == NULL ? NULL : p;
}

/* True: c is on its way to the home of its database, or has no room. */
static bool goes_home(struct client *c)
{
	struct sessions *const ss = c->ss;
	const char *const db = (const char *)c->roamer->luggage.at;
	const unsigned home = catalog_home(ss->catalog, db);

	if (home == ss->worker || !ss->client_ops.may_move(ss->app, home))
		return false;
	c->ss = NULL;
	ss->clients_out++;
	roam_send(c, ss, home);
	return true;
}

/* The limits count c already. */
static void enter_pool(struct client *c, struct pool *p, struct user *u)
{
	c->db = p->key.db;
	database_count_client(c->db, 1);
	c->user = u;
	u->clients++;
	ledger_receive(u->share.ledger, &c->roamer->of_user);
	ledger_receive(c->db->share.ledger, &c->roamer->of_database);
	c->pc.pool = p;
	pool_client_set(&c->pc, CLIENT_ACTIVE);
}

static void go_on_idle(struct client *c)
{
	struct sessions *const ss = c->ss;

	if (!ss->watch_idle)
		return;
	if (c->roamer->was_idle)
		timeout_resume(&ss->idle_list, &c->timer);
	else
		timeout_start(&ss->idle_list, &c->timer, time_now());
}

/* Returns 0, or -1: no memory. c can be closed in both cases. */
static int join(struct client *c)
{
	struct sessions *const ss = c->ss;
	const int rc = tls_join(&c->stream, ss->tls->client);

	cursor_list_add(&ss->all_clients, &c->node);
	catalog_count_client(ss->catalog, 1);
	HASH_ADD(hh, ss->by_key, key, CLIENT_KEY_BYTES, c);
	roam_arrive(c);
	return stream_join(&c->stream, ss->loop) < 0 || c->hh.tbl == NULL ?
	    -1 : rc;
}

/* SUSPEND may have begun or ended while c was on its way. */
static void go_on(struct client *c)
{
	c->roamer->came = time_now();
	c->roamer->request_time = c->request_time;
	go_on_idle(c);
	if (c->ss->suspended)
		stream_suspend(&c->stream);
	stream_yield(&c->stream);
}

void client_arrive(struct sessions *ss, struct client *c)
{
	struct writer *const luggage = &c->roamer->luggage;
	enum close_reason why;
	struct user *user;
	struct reader r;

	reader_init(&r, luggage->at, luggage->len);
	c->ss = ss;
	ss->clients_in++;
	struct pool *const p = find_pool(c, &r, &user, &why);

	if (p == NULL && goes_home(c))
		return;
	int rc = join(c);

	if (p == NULL) {
		/* the note of the move returns the user's place */
		c->counted = false;
		client_fail(c, why);
		return;
	}
	enter_pool(c, p, user);
	if (unpack(c, &r) < 0)
		rc = -1;
	writer_fini(luggage);
	if (rc < 0)
		client_fail(c, why);
	else
		go_on(c);
}
