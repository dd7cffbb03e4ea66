/* admin.c - the console: sessions on the database pgbouncer.
 * SPDX-License-Identifier: ISC */
#include "app/admin.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "app/app.h"
#include "app/console.h"
#include "base/mem.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/reader.h"
#include "session/broker.h"
#include "session/client.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OUT_MAX (16 << 20)	/* one reply, or one row of a long one */
#define QUERY_MAX (1 << 20)	/* a whole message */
#define TURN_MAX 32		/* requests served before others have a turn */
#define QUERY_SHOWN 900		/* bytes of a query in an error text */

/* --- login --- */

/* (admin-console.md section 1, "Login reply") */
static void write_parameters(struct writer *w, const struct client *c)
{
	static const struct {
		const char *name, *value;
	} fixed[] = {
		{ "server_version", PGBOUNCER_COMPAT_VERSION "/bouncer" },
		{ "client_encoding", "UTF8" },
		{ "server_encoding", "UTF8" },
		{ "DateStyle", "ISO" },
		{ "TimeZone", "GMT" },
		{ "standard_conforming_strings", "on" },
		{ "is_superuser", "on" },
	};
	const struct params_table *const t = c->ss->params;

	for (size_t i = 0; i < COUNT(fixed); i++)
		writer_parameter_status(w, fixed[i].name, fixed[i].value);
	for (int i = 0; i < params_count(t); i++) {
		const char *const value = params_get(c->params, i);

		if (value != NULL)
			writer_parameter_status(w, params_name(t, i), value);
	}
}

static void write_welcome(struct console *k)
{
	const struct client *const c = k->client;
	const char *const notice =
	    sessions_settings(c->ss)->login_notify_message;
	struct writer *const w = &k->out;

	writer_begin(w, BE_AUTHENTICATION);
	writer_u32(w, MSG_AUTH_OK);
	writer_end(w);
	write_parameters(w, c);
	writer_begin(w, BE_BACKEND_KEY_DATA);
	writer_bytes(w, c->key, c->key_len);
	writer_end(w);
	if (notice != NULL && notice[0] != '\0')
		console_notice(k, notice, NULL);
	writer_ready(w, 'I');
}

/* Look again next turn at what was read, or can be. */
static void go_on(struct client *c)
{
	stream_reread(&c->stream);
	stream_yield(&c->stream);
}

void admin_open(struct client *c)
{
	struct app *const app = c->ss->app;
	struct console *const k = mem_zalloc(sizeof *k);

	if (k == NULL) {
		client_fail(c, "53200", "no mem");
		return;
	}
	k->client = c;
	k->app = app;
	writer_init(&k->out, OUT_MAX);
	DL_APPEND(app->consoles, k);
	c->console = k;
	client_new_key(c);
	write_welcome(k);
	c->welcomed = true;
	console_send(k);
	/* it may have sent queries behind its password */
	if (c->console != NULL)
		go_on(c);
}

void admin_closed(struct client *c)
{
	struct console *const k = c->console;

	DL_DELETE(k->app->consoles, k);
	writer_fini(&k->out);
	mem_free(k);
	c->console = NULL;
}

/* --- what it sends --- */

/* What the next message asks for. */
struct request {
	enum {
		REQUEST_NONE,		/* nothing; or it is not whole yet */
		REQUEST_COMMAND,	/* run command */
		REQUEST_ERROR,		/* tell error, go on */
		REQUEST_BAD,		/* tell error, then "bad packet" */
		REQUEST_FATAL,		/* error ends the session */
		REQUEST_CLOSE,		/* CloseComplete */
		REQUEST_TERMINATE,
	} kind;
	struct admin_command command;
	struct err error;	/* COMMAND: "invalid command ..." */
};

enum reaction {
	REACT_UNKNOWN, REACT_QUERY, REACT_TERMINATE, REACT_EXTENDED,
	REACT_UNSUPPORTED, REACT_IGNORE, REACT_CLOSE,
};

/* (admin-console.md section 2) */
static const uint8_t reactions[256] = {
	[FE_QUERY] = REACT_QUERY,
	[FE_TERMINATE] = REACT_TERMINATE,
	[FE_PARSE] = REACT_EXTENDED,
	[FE_BIND] = REACT_EXTENDED,
	[FE_EXECUTE] = REACT_EXTENDED,
	[FE_SYNC] = REACT_UNSUPPORTED,
	[FE_DESCRIBE] = REACT_UNSUPPORTED,
	[FE_FLUSH] = REACT_UNSUPPORTED,
	[FE_FUNCTION_CALL] = REACT_UNSUPPORTED,
	[FE_COPY_DATA] = REACT_IGNORE,
	[FE_COPY_DONE] = REACT_IGNORE,
	[FE_COPY_FAIL] = REACT_IGNORE,
	[FE_CLOSE] = REACT_CLOSE,
};

static void request_fail(struct request *rq, const char *text)
{
	rq->kind = REQUEST_FATAL;
	err_set(&rq->error, "08P01", "%s", text);
}

static void request_unsupported(struct request *rq, uint8_t type)
{
	rq->kind = REQUEST_BAD;
	err_set(&rq->error, "08P01",
	    "unsupported packet type for admin console: %u", type);
}

/* Bytes of s to show: cut between two characters (UTF-8). */
static int shown(const char *s)
{
	size_t n = strlen(s);

	if (n <= QUERY_SHOWN)
		return (int)n;
	for (n = QUERY_SHOWN; n > 0 && ((uint8_t)s[n] & 0xc0) == 0x80;)
		n--;
	return (int)n;
}

static void request_query(struct request *rq, const struct client *c,
    struct reader *body)
{
	const char *const query = reader_str(body);

	if (sessions_settings(c->ss)->disable_pqexec) {
		request_fail(rq, "PQexec disallowed");
		return;
	}
	if (query == NULL || reader_left(body) > 0) {
		request_fail(rq, "bad packet");
		return;
	}
	err_set(&rq->error, "08P01", "invalid command '%.*s', use SHOW HELP;",
	    shown(query), query);
	switch (admin_parse(query, &rq->command)) {
	case ADMIN_PARSE_OK:
		rq->kind = REQUEST_COMMAND;
		break;
	case ADMIN_PARSE_TOO_LONG:
		err_set(&rq->error, "08P01", "bad arguments");
		/* fallthrough */
	case ADMIN_PARSE_INVALID:
		rq->kind = REQUEST_ERROR;
		break;
	}
}

/* Of a statement with a name it is harmless. */
static void request_close(struct request *rq, struct reader *body)
{
	const uint8_t what = reader_u8(body);
	const char *const name = reader_str(body);

	if (what == 'S' && name != NULL && name[0] != '\0')
		rq->kind = REQUEST_CLOSE;
	else
		request_unsupported(rq, FE_CLOSE);
}

/* A message that counts as a whole. Returns its size; 0: it is not here yet. */
static size_t whole_message(struct client *c, const uint8_t *at, size_t left,
    struct request *rq)
{
	const size_t size = msg_size(at, UINT32_MAX);
	struct reader body;

	if (size > QUERY_MAX) {
		request_fail(rq, "query too long for admin console");
		return 0;
	}
	if (left < size)
		return 0;
	reader_init(&body, at + MSG_HEADER, size - MSG_HEADER);
	if (at[0] == FE_QUERY)
		request_query(rq, c, &body);
	else
		request_close(rq, &body);
	return size;
}

static void bad_header(struct request *rq, const uint8_t *at, size_t left)
{
	char text[MSG_BAD_TEXT];

	request_fail(rq, msg_bad_header(at, left, text));
}

static size_t pass_over(struct client *c, size_t left)
{
	const size_t n = left < c->skip ? left : c->skip;

	c->skip -= (uint32_t)n;
	return n;
}

/* Returns the bytes that are done with; 0 when more must come first. */
static size_t next_request(struct client *c, const struct burst *b,
    struct request *rq)
{
	rq->kind = REQUEST_NONE;
	if (c->skip > 0)
		return pass_over(c, b->len);
	if (b->len < MSG_HEADER)
		return 0;
	const size_t size = msg_size(b->at,
	    sessions_settings(c->ss)->max_packet_size);

	if (size == 0) {
		bad_header(rq, b->at, b->len);
		return 0;
	}
	switch ((enum reaction)reactions[b->at[0]]) {
	case REACT_QUERY:
	case REACT_CLOSE:
		return whole_message(c, b->at, b->len, rq);
	case REACT_IGNORE:
		c->skip = (uint32_t)size;
		return pass_over(c, b->len);
	case REACT_TERMINATE:
		rq->kind = REQUEST_TERMINATE;
		break;
	case REACT_EXTENDED:
		rq->kind = REQUEST_BAD;
		err_set(&rq->error, "08P01", "extended query protocol "
		    "not supported by admin console");
		break;
	case REACT_UNSUPPORTED:
		request_unsupported(rq, b->at[0]);
		break;
	case REACT_UNKNOWN:
		request_fail(rq, "unknown pkt");
		break;
	}
	return 0;
}

static void act(struct console *k, struct request *rq)
{
	struct client *const c = k->client;

	switch (rq->kind) {
	case REQUEST_NONE:
		break;
	case REQUEST_COMMAND:
		console_run(k, &rq->command, &rq->error);
		break;
	case REQUEST_ERROR:
		console_error(k, &rq->error);
		console_send(k);
		break;
	case REQUEST_BAD:
		console_error(k, &rq->error);
		console_send(k);
		client_fail(c, NULL, "bad packet");
		break;
	case REQUEST_FATAL:
		client_fail(c, rq->error.code, rq->error.text);
		break;
	case REQUEST_CLOSE:
		writer_begin(&k->out, BE_CLOSE_COMPLETE);
		writer_end(&k->out);
		console_send(k);
		break;
	case REQUEST_TERMINATE:
		client_close(c, "close req");
		break;
	}
}

/* Nothing is read while a command is blocked, or its reply not yet sent. */
static bool is_listening(const struct client *c)
{
	return c->console != NULL && c->console->wait == CONSOLE_READY &&
	    !stream_is_blocked(&c->stream);
}

/* Done for this turn; more: there is something to look at in the next. */
static void settle(struct client *c, bool more)
{
	if (c->console == NULL)
		return;
	if (c->console->wait != CONSOLE_READY && c->stream.hup)
		client_close(c, "client unexpected eof");
	else if (is_listening(c) && (more || stream_is_ready(&c->stream)))
		go_on(c);
}

/* One message a time: a command may make others use the shared buffer. */
static void work(struct client *c, struct burst *b)
{
	bool more = true;

	for (int i = 0; more && i < TURN_MAX && is_listening(c); i++) {
		struct request rq;
		const size_t used = next_request(c, b, &rq);

		if (carry_rest(&c->carry, b, used) < 0) {
			client_fail(c, "53200", "no mem");
			return;
		}
		act(c->console, &rq);
		more = used > 0 && carry_again(&c->carry, b);
	}
	settle(c, more);
}

void admin_input(struct client *c)
{
	struct burst b;

	if (c->console->wait != CONSOLE_READY && c->stream.hup) {
		client_close(c, "client unexpected eof");
		return;
	}
	if (!is_listening(c))
		return;
	const ssize_t n = carry_read(&c->carry, &c->stream, &b, 2 * QUERY_MAX);

	if (n == STREAM_NONE && !carry_again(&c->carry, &b))
		return;
	if (n < 0) {
		client_close(c, "client unexpected eof");
		return;
	}
	if (n > 0)
		c->request_time = time_now();
	work(c, &b);
}

void admin_drained(struct client *c)
{
	if (c->stream.broken)
		client_close(c, "client unexpected eof");
	else
		go_on(c);
}

/* --- blocked commands --- */

static void unblock(struct console *k, const struct err *e, const char *tag)
{
	struct client *const c = k->client;

	k->wait = CONSOLE_READY;
	if (e != NULL)
		console_error(k, e);
	else
		console_complete(k, tag);
	console_send(k);
	if (c->console != NULL)
		go_on(c);
}

/* (admin-console.md section 4.12) */
void admin_cancel(struct client *c)
{
	struct console *const k = c->console;
	struct app *const app = k->app;
	const bool lift = k->wait == CONSOLE_PAUSE && k->db[0] == '\0' &&
	    app->catalog->paused && app->ss.shutdown == SHUTDOWN_NONE;
	struct err e;

	if (k->wait == CONSOLE_READY)
		return;
	err_set(&e, "57014", "canceling statement due to user request");
	unblock(k, &e, NULL);
	if (lift)
		app_resume(app);
}

static bool has_obsolete(const struct pool *p)
{
	static const enum server_state states[] = { SERVER_ACTIVE, SERVER_IDLE,
		SERVER_LOGIN, SERVER_TESTED, SERVER_USED };

	for (size_t i = 0; i < COUNT(states); i++) {
		const struct pool_server *ps;

		DL_FOREACH(p->servers[states[i]], ps) {
			if (ps->close_needed)
				return true;
		}
	}
	return false;
}

static void check_close(struct console *k, const struct database *db)
{
	const struct pool *p = k->app->catalog->pools;

	for (; p != NULL; p = p->hh.next) {
		if ((db == NULL || p->key.db == db) && has_obsolete(p))
			return;
	}
	unblock(k, NULL, "WAIT_CLOSE");
}

static void check_pause(struct console *k, const struct database *db)
{
	const bool paused = db != NULL ? db->paused : k->app->catalog->paused;
	struct err e;

	if (!paused) {
		if (db != NULL)
			err_set(&e, "08P01", "database %s is not paused",
			    k->db);
		else
			err_set(&e, "08P01",
			    "pooler is not paused/suspended");
		unblock(k, &e, NULL);
	} else if (broker_is_quiet(&k->app->ss, db)) {
		unblock(k, NULL, "PAUSE");
	}
}

void admin_turn(struct app *app)
{
	struct console *k, *next;

	DL_FOREACH_SAFE(app->consoles, k, next) {
		const struct database *db = NULL;
		struct err e;

		if (k->wait == CONSOLE_READY)
			continue;
		if (k->db[0] != '\0')
			db = catalog_find_database(app->catalog, k->db);
		if (k->db[0] != '\0' && db == NULL) {
			err_set(&e, "08P01", "no such database: %s", k->db);
			unblock(k, &e, NULL);
		} else if (k->wait == CONSOLE_PAUSE) {
			check_pause(k, db);
		} else {
			check_close(k, db);
		}
	}
}
