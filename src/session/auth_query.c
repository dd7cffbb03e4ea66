/* auth_query.c - asks a server for the secret of a user who wants in.
 *
 * The client that logs in is queued and linked as any other, but what it sent
 * has no influence on the query: neither parameters nor prepared statements of
 * clients are there. (spec/authentication.md section 6, CVE-2025-12819)
 * SPDX-License-Identifier: ISC */
#include "session/auth_query.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/reader.h"
#include "proto/report.h"
#include "proto/writer.h"
#include "session/broker.h"
#include "session/client.h"
#include "session/login.h"
#include "session/login_parts.h"
#include "session/server.h"
#include "session/sessions.h"

#define QUERY_MAX (1 << 24)	/* bytes of what we send */
#define ANSWER_MAX (1 << 20)	/* bytes of one message of the answer */
#define SECRET_MAX 65530	/* spec/authentication.md section 1 */
#define NULL_FIELD UINT32_MAX

static const char *own_or_global(const char *own, const char *global)
{
	if (own != NULL && own[0] != '\0')
		return own;
	return global != NULL && global[0] != '\0' ? global : NULL;
}

static const char *auth_user(const struct client *c)
{
	return own_or_global(c->db->conf->auth_user,
	    sessions_settings(c->ss)->auth_user);
}

bool auth_query_is_possible(const struct client *c)
{
	return c->db != NULL && auth_user(c) != NULL;
}

/* --- asking --- */

/* The database in which the query runs; NULL with e. */
static struct database *auth_database(struct client *c, struct err *e)
{
	const char *name = own_or_global(c->db->conf->auth_dbname,
	    sessions_settings(c->ss)->auth_dbname);
	struct database *db = c->db;

	e->code[0] = '\0';
	if (name != NULL)
		db = login_find_database(c, name, e);
	if (e->code[0] != '\0')
		return NULL;
	if (db == NULL || db->console) {
		log_at(LEVEL_ERROR, &c->who, "authentication database \"%s\" "
		    "is not configured.", db != NULL ? db->name : name);
		err_set(e, "08P01", "bouncer config error");
		return NULL;
	}
	if (name != NULL)
		login_keep_database(c, db);
	if (!db->disabled)
		return db;
	err_set(e, "08P01", "authentication database \"%s\" is disabled",
	    db->name);
	return NULL;
}

int auth_query_start(struct client *c, struct err *e)
{
	struct catalog *cat = c->ss->catalog;
	struct database *db = auth_database(c, e);

	if (db == NULL)
		return -1;
	struct user *u = catalog_get_user(cat, auth_user(c));

	c->pc.pool = u == NULL ? NULL : catalog_get_pool(cat, db, u);
	if (c->pc.pool == NULL)
		return err_set(e, "53200",
		    "no memory for authentication pool");
	stream_pause(&c->stream);
	broker_look_up(c);
	return 0;
}

/* PostgreSQL docs, Message Flow, Extended Query */
static void write_query(struct writer *w, const char *sql, const char *name)
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
	writer_u16(w, 1);
	writer_u32(w, (uint32_t)strlen(name));
	writer_bytes(w, name, strlen(name));
	writer_u16(w, 0);		/* all text */
	writer_end(w);
	writer_begin(w, FE_DESCRIBE);
	writer_u8(w, 'P');
	writer_str(w, "");
	writer_end(w);
	writer_begin(w, FE_EXECUTE);
	writer_str(w, "");
	writer_u32(w, 0);		/* all rows */
	writer_end(w);
	writer_begin(w, FE_SYNC);
	writer_end(w);
}

void auth_query_send(struct client *c)
{
	struct server *s = server_of(c->pc.server);
	const char *sql = own_or_global(c->db->conf->auth_query,
	    sessions_settings(c->ss)->auth_query);
	struct writer w;

	s->phase = SERVER_PHASE_LOOKUP;
	s->track.ready = false;
	writer_init(&w, QUERY_MAX);
	write_query(&w, sql != NULL ? sql : "", c->login->user);
	if (w.failed)
		server_fail(s, "53200", "no memory for auth_query");
	else if (stream_write_bytes(&s->stream, w.at, w.len) == STREAM_BROKEN)
		server_close(s, "server connection closed");
	writer_fini(&w);
}

/* --- the answer; each handler returns -1 when s was closed --- */

struct message {
	char type;
	const uint8_t *body;
	size_t len;
};

static int refuse(struct server *s, const char *reason)
{
	server_close(s, reason);
	return -1;
}

static int refuse_memory(struct server *s)
{
	server_fail(s, "53200", "no memory for the auth_query response");
	return -1;
}

static int ignore(struct server *s, const struct message *m)
{
	(void)s;
	(void)m;
	return 0;
}

static int refuse_columns(struct server *s, unsigned n)
{
	char reason[80];

	snprintf(reason, sizeof reason,
	    "expected 2 columns from auth_query, not %u", n);
	return refuse(s, reason);
}

/* RowDescription and DataRow begin with the number of columns. */
static int check_columns(struct server *s, const struct message *m)
{
	struct reader r;

	reader_init(&r, m->body, m->len);
	const unsigned n = reader_u16(&r);

	if (r.failed)
		return refuse(s, "unexpected response from auth_query");
	return n == 2 ? 0 : refuse_columns(s, n);
}

static int on_no_data(struct server *s, const struct message *m)
{
	(void)m;
	return refuse_columns(s, 0);
}

/* A column of a DataRow; false: it is NULL, or r has failed. */
static bool read_field(struct reader *r, const char **at, size_t *len)
{
	const uint32_t n = reader_u32(r);

	*len = 0;
	if (r->failed || n == NULL_FIELD)
		return false;
	*at = (const char *)reader_bytes(r, n);
	*len = n;
	if (*at != NULL && memchr(*at, '\0', n) != NULL)
		r->failed = true;	/* no text of PostgreSQL's has that */
	return !r->failed;
}

/*
 * The secret, of any kind; none at all is one that no password matches.
 * NULL: no memory.
 */
static struct credentials *make_credentials(const char *secret, size_t len)
{
	char *text = mem_strndup(len > 0 ? secret : "", len);
	struct credentials *cr = text == NULL ? NULL : credentials_new(text);

	secret_free(text);
	return cr;
}

static int on_row(struct server *s, const struct message *m)
{
	struct login *l = client_of(s->ps.client)->login;
	const char *name = NULL, *secret = NULL;
	size_t name_len, secret_len;
	struct reader r;

	if (check_columns(s, m) < 0)
		return -1;
	reader_init(&r, m->body, m->len);
	reader_u16(&r);
	if (!read_field(&r, &name, &name_len) && !r.failed)
		return refuse(s,
		    "auth_query response contained null user name");
	if (!read_field(&r, &secret, &secret_len))
		secret_len = 0;
	if (r.failed || reader_left(&r) > 0 || name_len == 0 ||
	    secret_len > SECRET_MAX)
		return refuse(s, "unexpected response from auth_query");

	struct credentials *cr = make_credentials(secret, secret_len);

	if (cr == NULL)
		return refuse_memory(s);
	/* with several rows the last counts */
	credentials_unref(&l->found);
	l->found = cr;
	snprintf(l->found_name, sizeof l->found_name, "%.*s", (int)name_len,
	    name);
	return 0;
}

static int on_parameter(struct server *s, const struct message *m)
{
	struct reader r;

	reader_init(&r, m->body, m->len);
	const char *name = reader_str(&r), *value = reader_str(&r);

	if (r.failed)
		return refuse(s, "broken ParameterStatus packet");
	const int i = params_find(s->ss->params, name);

	return i >= 0 && params_set(&s->params, i, value) < 0 ?
	    refuse_memory(s) : 0;
}

static int on_error(struct server *s, const struct message *m)
{
	struct report r;

	if (report_parse(&r, m->body, m->len) == 0)
		log_error("S: error in auth_query: %s: %s", r.severity,
		    r.message);
	return refuse(s, "error response from auth_query");
}

/* Returns -1 unless this ends it well: then s is fit for the next client. */
static int on_ready(struct server *s, const struct message *m)
{
	if (m->len != 1 || m->body[0] != 'I')
		return refuse(s, "unexpected response from auth_query");
	s->track.status = 'I';
	s->track.ready = true;
	s->phase = SERVER_PHASE_POOLED;
	return 0;
}

static int (*const handlers[256])(struct server *, const struct message *) = {
	[BE_PARSE_COMPLETE] = ignore,
	[BE_BIND_COMPLETE] = ignore,
	[BE_COMMAND_COMPLETE] = ignore,
	[BE_NOTICE_RESPONSE] = ignore,
	[BE_NOTIFICATION_RESPONSE] = ignore,
	[BE_ROW_DESCRIPTION] = check_columns,
	[BE_NO_DATA] = on_no_data,
	[BE_DATA_ROW] = on_row,
	[BE_PARAMETER_STATUS] = on_parameter,
	[BE_ERROR_RESPONSE] = on_error,
	[BE_READY_FOR_QUERY] = on_ready,
};

/* Returns the size of the message at p, 0 when it is short; -1: closed. */
static ssize_t take_message(struct server *s, const uint8_t *p, size_t len)
{
	const size_t size = len < MSG_HEADER ? 0 : msg_size(p, ANSWER_MAX - 1);

	if (len >= MSG_HEADER && size == 0)
		return refuse(s, "bad pkt header");
	if (size == 0 || size > len)
		return 0;
	const struct message m = { (char)p[0], p + MSG_HEADER,
	    size - MSG_HEADER };

	if (handlers[p[0]] == NULL)
		return refuse(s, "unexpected response from auth_query");
	return handlers[p[0]](s, &m) < 0 ? -1 : (ssize_t)size;
}

/* s is given back before the client goes on: its secret is known now. */
static void finish(struct server *s)
{
	struct client *c = client_of(s->ps.client);

	broker_release(s);
	c->pc.pool = NULL;
	login_answered(c);
}

/* Returns -1 when there is no more to be read here. */
static int on_burst(struct server *s, const struct burst *b)
{
	size_t used = 0;
	ssize_t n;

	while (s->phase == SERVER_PHASE_LOOKUP && (n = take_message(s,
	    b->at + used, b->len - used)) != 0) {
		if (n < 0)
			return -1;
		used += (size_t)n;
	}
	if (s->phase == SERVER_PHASE_LOOKUP) {
		if (carry_rest(&s->carry, b, used) == 0)
			return 0;
		return refuse_memory(s);
	}
	const bool talks_on = used < b->len;

	carry_fini(&s->carry);
	if (talks_on)
		return refuse(s, "unexpected response from auth_query");
	finish(s);
	return -1;
}

void auth_query_input(struct server *s)
{
	struct burst b;

	while (server_is_open(s) && stream_is_ready(&s->stream)) {
		const ssize_t n = carry_read(&s->carry, &s->stream, &b,
		    ANSWER_MAX + MSG_HEADER);

		if (n == STREAM_NONE)
			return;
		if (n < 0) {
			server_close(s, "server conn crashed?");
			return;
		}
		s->ps.used = time_now();
		if (on_burst(s, &b) < 0)
			return;
		stream_reread(&s->stream);
	}
}
