/* auth_query.c - asks a server for the secret of a user who wants in.
 *
 * The client that logs in is queued and linked as any other, but it gets a
 * server that no client has had, and what it sent has no influence on the
 * query: neither parameters nor prepared statements of clients are there.
 * (spec/authentication.md section 6, CVE-2025-12819)
 * SPDX-License-Identifier: ISC */
#include "login/auth_query.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "broker/broker.h"
#include "login/login_database.h"
#include "login/login_log.h"
#include "pool/credentials.h"
#include "pool/users.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/client_role.h"
#include "session/server.h"
#include "session/sessions.h"

#define QUERY_MAX (1 << 24)	/* bytes of what we send */
#define LUGGAGE_MAX (1 << 16)	/* bytes of what a client has set */
#define ANSWER_MAX (1 << 20)	/* bytes of one message of the answer */
#define ANSWER_ALL (1 << 22)	/* bytes of all */

static const char *own_or_global(const char *own, const char *global)
{
	if (own != NULL && own[0] != '\0')
		return own;
	return global != NULL && global[0] != '\0' ? global : NULL;
}

/* By whom, where, and what; all borrowed. */
struct question {
	const char *auth_user;		/* NULL: none, as nobody may ask */
	const char *database;		/* NULL: the client's own */
	const char *sql;
};

/* Of a database that has a part here its home is asked. */
static const char *asked_in(const struct client *c, const char *name)
{
	return name == NULL && c->db != NULL && c->db->is_part ?
	    c->db->name : name;
}

/* As it would be asked now; a database that there is not has no settings. */
static struct question question_now(const struct client *c)
{
	static const struct config_db none = { 0 };
	const struct settings *const set = sessions_settings(c->ss);
	const struct config_db *const own = c->db != NULL ? c->db->conf :
	    &none;
	const char *const sql = own_or_global(own->auth_query,
	    set->auth_query);

	return (struct question){
		.auth_user = own_or_global(own->auth_user, set->auth_user),
		.database = asked_in(c, own_or_global(own->auth_dbname,
		    set->auth_dbname)),
		.sql = sql != NULL ? sql : "",
	};
}

/* As c has asked it, or else is going to. */
static struct question question_of(const struct client *c)
{
	const struct auth_errand *const e = c->role->query == NULL ? NULL :
	    c->role->query(c)->errand;

	return e == NULL ? question_now(c) : (struct question){
		.auth_user = e->auth_user, .database = e->database,
		.sql = e->sql,
	};
}

/* An administrator may come to end a pause. */
static bool is_urgent(const struct client *c)
{
	const struct auth_errand *const e = c->role->query == NULL ? NULL :
	    c->role->query(c)->errand;

	return e != NULL ? e->urgent : c->db != NULL && c->db->console;
}

/*
 * Nor the console nor a database that there is not can be asked: a name is
 * unknown there, if no other is named.
 */
bool auth_query_is_possible(const struct client *c)
{
	const struct question q = question_now(c);

	return q.auth_user != NULL && (q.database != NULL ||
	    (c->db != NULL && !c->db->console));
}

bool auth_query_is_meant(const struct client *c)
{
	return c->db != NULL ? auth_query_is_possible(c) :
	    question_now(c).auth_user != NULL;
}

bool auth_query_is_here(const struct client *c)
{
	return question_of(c).database == NULL;
}

/* --- elsewhere --- */

unsigned auth_query_home(const struct client *c)
{
	const char *const name = question_of(c).database;

	return name == NULL ? c->ss->worker :
	    catalog_home(c->ss->catalog, name);
}

void auth_errand_free(struct auth_errand **ep)
{
	struct auth_errand *const e = *ep;

	*ep = NULL;
	if (e == NULL)
		return;
	mem_free(e->user);
	mem_free(e->auth_user);
	mem_free(e->database);
	mem_free(e->sql);
	config_unref(&e->config);
	writer_fini(&e->params);
	mem_free(e);
}

struct auth_errand *auth_errand_new(const struct client *c, unsigned home)
{
	struct auth_errand *e = mem_zalloc(sizeof *e);
	const struct question q = question_now(c);

	if (e == NULL)
		return NULL;
	e->home = home;
	e->config = config_ref((struct config *)c->ss->catalog->config);
	e->has_database = c->db != NULL;
	e->urgent = is_urgent(c);
	e->user = mem_strdup(c->role->query(c)->user);
	e->auth_user = mem_strdup(q.auth_user);
	e->database = q.database == NULL ? NULL : mem_strdup(q.database);
	e->sql = mem_strdup(q.sql);
	writer_init(&e->params, LUGGAGE_MAX);
	if (auth_query_home(c) != e->home || e->home != c->ss->worker)
		params_list_write(c->ss->params, c->params, &e->params);
	if (e->user == NULL || e->auth_user == NULL || e->sql == NULL ||
	    (e->database == NULL && q.database != NULL) || e->params.failed)
		auth_errand_free(&e);
	return e;
}

struct auth_errand *auth_errand_copy(const struct auth_errand *e,
    const char *database)
{
	struct auth_errand *c = mem_zalloc(sizeof *c);

	if (c == NULL)
		return NULL;
	c->config = config_ref(e->config);
	c->urgent = e->urgent;
	c->user = mem_strdup(e->user);
	c->auth_user = mem_strdup(e->auth_user);
	c->database = database == NULL ? NULL : mem_strdup(database);
	c->sql = mem_strdup(e->sql);
	writer_init(&c->params, LUGGAGE_MAX);
	if (c->user == NULL || c->auth_user == NULL || c->sql == NULL ||
	    (c->database == NULL && database != NULL))
		auth_errand_free(&c);
	return c;
}

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* NULL is the one that c has named. */
static bool is_same_database(const struct client *c, const char *a,
    const char *b)
{
	const char *const own = c->db != NULL ? c->db->name : NULL;

	return is_same(a != NULL ? a : own, b != NULL ? b : own);
}

/* Are they the same servers as before a reload? */
static bool leads_to_same(const struct config *a, const struct config *b,
    const char *database)
{
	if (a->index == b->index)
		return true;
	const struct config_db *const one = config_find_db(a, database);
	const struct config_db *const other = config_find_db(b, database);

	return one != NULL && other != NULL ?
	    !config_db_recycles(one, other) :
	    one == other && is_same(a->auto_db, b->auto_db);
}

bool auth_errand_holds(const struct client *c)
{
	const struct auth_errand *const e = c->role->query(c)->errand;

	if (!auth_query_is_possible(c) ||
	    users_has_listed(c->ss->catalog, e->user))
		return false;
	const struct question q = question_now(c);

	return strcmp(q.auth_user, e->auth_user) == 0 &&
	    is_same_database(c, q.database, e->database) && strcmp(q.sql, e->sql) == 0 &&
	    leads_to_same(e->config, c->ss->catalog->config,
	    q.database != NULL ? q.database : c->db->name);
}

void auth_query_fini(struct auth_query *q)
{
	credentials_unref(&q->found);
	mem_free(q->name);
	q->name = NULL;
	auth_errand_free(&q->errand);
}

/* --- asking --- */

/* The database in which the query runs; NULL with e. */
static struct database *auth_database(struct client *c, struct err *e)
{
	const char *name = question_of(c).database;
	struct database *db = c->db;

	e->code[0] = '\0';
	if (name != NULL)
		db = login_find_database(c, name, e);
	if (e->code[0] != '\0')
		return NULL;
	if (db == NULL || db->console) {
		if (db == NULL)
			login_log(c, LEVEL_ERROR, "authentication database "
			    "\"%s\" is not configured.", name);
		else
			login_log(c, LEVEL_ERROR, "cannot use the reserved "
			    "\"%s\" database as an auth_dbname", db->name);
		err_set(e, ERRCODE_PROTOCOL_VIOLATION, "bouncer config error");
		return NULL;
	}
	if (name != NULL)
		login_keep_database(c, db);
	if (!db->disabled)
		return db;
	err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "authentication database \"%s\" is disabled", db->name);
	return NULL;
}

int auth_query_start(struct client *c, struct err *e)
{
	struct catalog *cat = c->ss->catalog;
	struct database *db = auth_database(c, e);

	if (db == NULL)
		return -1;
	struct user *u = catalog_get_user(cat, question_of(c).auth_user);

	c->pc.pool = u == NULL ? NULL : catalog_get_pool(cat, db, u);
	if (c->pc.pool == NULL)
		return err_set(e, ERRCODE_OUT_OF_MEMORY,
		    "no memory for authentication pool");
	c->pc.lookup = true;
	c->pc.urgent = is_urgent(c);
	stream_pause(&c->stream);
	broker_look_up(c);
	return 0;
}

/*
 * What comes first, for as long as the transaction lasts, which the Sync ends:
 * whoever may create objects in the database shadows nothing of the catalog,
 * neither by schemas of its own nor by the search_path of its database, and what
 * the role or database has in its path is found all the same. Nothing in here
 * depends on the path that is replaced. (CVE-2018-1058; PostgreSQL docs,
 * Writing SECURITY DEFINER Functions Safely)
 */
static const char set_path[] =
    "SELECT pg_catalog.set_config('search_path', "
    "pg_catalog.concat_ws(', ', 'pg_catalog', "
    "CASE WHEN pg_catalog.current_setting('search_path') "
    "OPERATOR(pg_catalog.<>) '' "
    "THEN pg_catalog.current_setting('search_path') END, "
    "'pg_temp'), true)";

/* PostgreSQL docs, Message Flow, Extended Query; name: the parameter, or NULL */
static void write_bind(struct writer *w, const char *sql, const char *name)
{
	writer_begin(w, FE_PARSE);
	writer_str(w, "");
	writer_str(w, sql);
	writer_u16(w, 0);		/* no types given */
	writer_end(w);
	writer_begin(w, FE_BIND);
	writer_str(w, "");
	writer_str(w, "");
	writer_u16(w, 0);		/* all text */
	writer_u16(w, name != NULL);
	if (name != NULL) {
		writer_u32(w, (uint32_t)strlen(name));
		writer_bytes(w, name, strlen(name));
	}
	writer_u16(w, 0);		/* all text */
	writer_end(w);
}

static void write_execute(struct writer *w)
{
	writer_begin(w, FE_EXECUTE);
	writer_str(w, "");
	writer_u32(w, 0);		/* all rows */
	writer_end(w);
}

static void write_query(struct writer *w, const char *sql, const char *name)
{
	write_bind(w, set_path, NULL);
	write_execute(w);
	write_bind(w, sql, name);
	writer_begin(w, FE_DESCRIBE);
	writer_u8(w, 'P');
	writer_str(w, "");
	writer_end(w);
	write_execute(w);
	writer_begin(w, FE_SYNC);
	writer_end(w);
}

/* Once for each pool: the client that logs in says where the query runs. */
static void warn_of_superuser(const struct client *c, const struct server *s)
{
	struct pool *p = s->ps.pool;

	if (!s->superuser || p->superuser_told ||
	    question_of(c).database != NULL)
		return;
	p->superuser_told = true;
	log_warning("auth_user \"%s\" is a superuser and auth_dbname is not "
	    "set: auth_query runs in database \"%s\", where others may create "
	    "objects; use a role that may only read what auth_query needs, "
	    "and a database that only you own", p->key.user->name,
	    p->key.db->name);
}

void auth_query_send(struct client *c)
{
	struct server *s = server_of(c->pc.server);
	struct auth_query *q = c->role->query(c);
	struct writer w;

	warn_of_superuser(c, s);
	server_set_phase(s, SERVER_PHASE_LOOKUP);
	s->track.ready = false;
	q->answer = (struct auth_answer){ 0 };
	s->unnamed = OWN_UNKNOWN;
	writer_init(&w, QUERY_MAX);
	write_query(&w, question_of(c).sql, q->user);
	if (w.failed)
		server_fail(s, CLOSE_NO_MEMORY_FOR_AUTH_QUERY);
	else if (stream_write_bytes(&s->stream, w.at, w.len) == STREAM_BROKEN)
		server_close(s, CLOSE_SERVER_CONNECTION_CLOSED);
	writer_fini(&w);
}

void auth_query_leave(struct client *c)
{
	broker_client_gone(c);
}

/* --- the answer --- */

static int refuse(struct server *s, enum close_reason reason)
{
	server_close(s, reason);
	return -1;
}

static int refuse_memory(struct server *s)
{
	server_fail(s, CLOSE_NO_MEMORY_FOR_AUTH_ANSWER);
	return -1;
}

/*
 * The secret, of any kind; none at all is one that no password matches.
 * NULL: no memory.
 */
static struct credentials *make_credentials(const struct auth_field *secret)
{
	char *text = mem_strndup(secret->len > 0 ? secret->at : "",
	    secret->len);
	struct credentials *cr = text == NULL ? NULL : credentials_new(text);

	secret_free(text);
	return cr;
}

/* With several rows the last one counts. */
static int on_row(struct server *s, struct auth_query *q)
{
	const struct auth_answer *a = &q->answer;
	struct credentials *cr = make_credentials(&a->secret);
	char *const name = mem_strndup(a->name.at, a->name.len);

	if (cr == NULL || name == NULL) {
		credentials_unref(&cr);
		mem_free(name);
		return refuse_memory(s);
	}
	credentials_unref(&q->found);
	mem_free(q->name);
	q->found = cr;
	q->name = name;
	return 0;
}

static int on_parameter(struct server *s, const struct auth_answer *a)
{
	const int i = params_find(s->ss->params, a->name.at);

	return i >= 0 && params_set(&s->params, i, a->secret.at) < 0 ?
	    refuse_memory(s) : 0;
}

/*
 * These say nothing about the query: the server goes down, is short of something,
 * or has lost patience (PostgreSQL docs, PostgreSQL Error Codes).
 */
static bool is_passing(const char *code)
{
	static const char *const starts[] = { "08", "40", "53", "55P03", "57",
		"58" };

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (strncmp(code, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

static void note_error(struct auth_query *q, const uint8_t *body, size_t len)
{
	struct report r;

	q->answer.denied = true;
	if (report_parse(&r, body, len) < 0)
		return;
	q->answer.denied = !is_passing(r.code);
	log_error("S: error in auth_query: %s: %s", r.severity, r.message);
}

/* Returns -1 when s was closed. */
static int on_message(struct server *s, char type, const uint8_t *body,
    size_t len)
{
	const struct client *c = client_of(s->ps.client);
	struct auth_query *q = c->role->query(c);

	switch (auth_answer_take(&q->answer, type, body, len)) {
	case AUTH_ANSWER_MORE:
		return 0;
	case AUTH_ANSWER_ROW:
		return on_row(s, q);
	case AUTH_ANSWER_PARAMETER:
		return on_parameter(s, &q->answer);
	case AUTH_ANSWER_END:
		s->track.status = 'I';
		s->track.ready = true;
		server_set_phase(s, SERVER_PHASE_POOLED);
		return 0;
	case AUTH_ANSWER_ERROR:
		note_error(q, body, len);
		break;
	case AUTH_ANSWER_BAD:
		q->answer.denied = true;
		break;
	}
	/* of the login nothing may be left once s is closed */
	char why[sizeof q->answer.why];

	memcpy(why, q->answer.why, sizeof why);
	server_close_cause(s, (struct close_cause){
	    .reason = CLOSE_AUTH_QUERY_FAILED, .text = why });
	return -1;
}

/* Returns the size of the message at p, 0 when it is short; -1: closed. */
static ssize_t take_message(struct server *s, const uint8_t *p, size_t len)
{
	const struct client *const c = client_of(s->ps.client);
	struct auth_query *const q = c->role->query(c);
	const size_t size = len < MSG_HEADER ? 0 : msg_size(p, ANSWER_MAX - 1);

	if (len >= MSG_HEADER && size == 0)
		return refuse(s, CLOSE_BAD_PKT_HEADER);
	if (size == 0 || size > len)
		return 0;
	q->answer.heard += (unsigned)size;
	if (q->answer.heard > ANSWER_ALL)
		return refuse(s, CLOSE_AUTH_QUERY_UNEXPECTED);
	return on_message(s, (char)p[0], p + MSG_HEADER, size - MSG_HEADER) <
	    0 ? -1 : (ssize_t)size;
}

/* s is given back before the client goes on: its secret is known now. */
static void finish(struct server *s)
{
	struct client *c = client_of(s->ps.client);

	broker_release(s);
	c->pc.pool = NULL;
	c->pc.lookup = c->pc.urgent = false;
	c->role->query(c)->answered(c);
}

/* Returns -1 when there is no more to be read here. */
static int on_burst(struct server *s, const struct burst *b)
{
	size_t used = 0, work = 0;
	ssize_t n;

	while (s->phase == SERVER_PHASE_LOOKUP && (n = take_message(s,
	    b->at + used, b->len - used)) != 0) {
		if (n < 0)
			return -1;
		used += (size_t)n;
		if (loop_ends_piece(&work, (size_t)n) &&
		    loop_is_long(s->stream.loop))
			break;
	}
	if (s->phase == SERVER_PHASE_LOOKUP) {
		if (carry_rest(&s->carry, b, used) == 0)
			return 0;
		return refuse_memory(s);
	}
	const bool talks_on = used < b->len;

	carry_fini(&s->carry);
	if (talks_on)
		return refuse(s, CLOSE_AUTH_QUERY_UNEXPECTED);
	finish(s);
	return -1;
}

void auth_query_input(struct server *s)
{
	struct burst b;

	if (carry_again(&s->carry, &b) && on_burst(s, &b) < 0)
		return;
	while (server_is_open(s) && stream_is_ready(&s->stream)) {
		if (loop_is_long(s->stream.loop)) {
			stream_yield(&s->stream);
			return;
		}
		const ssize_t n = carry_read(&s->carry, &s->stream, &b,
		    ANSWER_MAX + MSG_HEADER);

		if (n == STREAM_NONE)
			return;
		if (n < 0) {
			server_close(s, CLOSE_SERVER_CRASHED);
			return;
		}
		s->ps.used = time_now();
		if (on_burst(s, &b) < 0)
			return;
		stream_reread(&s->stream);
	}
}
