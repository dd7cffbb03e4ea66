/* admin.c - the console: sessions on the database pgbouncer.
 * SPDX-License-Identifier: ISC */
#include "console/admin.h"

#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/timeouts.h"
#include "console/console.h"
#include "console/console_show.h"
#include "console/driver_query.h"
#include "console/handover.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OUT_MAX (16 << 20)	/* one reply, or one row of a long one */
#define QUERY_MAX (1 << 20)	/* a whole message */
#define TURN_MAX 32		/* requests served before others have a turn */

/* --- login --- */

/* (spec/admin-console.md section 1, "Login reply") */
static void write_parameters(struct writer *w, const struct client *c)
{
	static const struct {
		const char *name, *value;
	} fixed[] = {
		{ "client_encoding", "UTF8" },
		{ "server_encoding", "UTF8" },
		{ "DateStyle", "ISO" },
		{ "TimeZone", "GMT" },
		{ "standard_conforming_strings", "on" },
		{ "is_superuser", "on" },
	};
	const struct params_table *const t = c->ss->params;
	const int version = sessions_settings(c->ss)->console_version;

	writer_parameter_status(w, "server_version",
	    version_of(version)->server);
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
static void admin_go_on(struct client *c)
{
	stream_reread(&c->stream);
	stream_yield(&c->stream);
}

static void open_console(struct client *c)
{
	struct admin *const a = c->ss->admin;
	struct console *const k = mem_zalloc(sizeof *k);

	if (k == NULL) {
		client_fail(c, CLOSE_NO_MEM);
		return;
	}
	k->client = c;
	k->admin = a;
	writer_init(&k->out, OUT_MAX);
	DL_APPEND(a->consoles, k);
	catalog_count_console(c->ss->catalog, 1);
	c->console = k;
	client_new_key(c);
	write_welcome(k);
	c->welcomed = true;
	console_send(k);
	/* the client may have sent queries behind its password */
	if (c->console != NULL)
		admin_go_on(c);
}

/* The oldest console of a stats user. */
static struct console *find_guest(const struct admin *a)
{
	struct console *k;

	DL_FOREACH(a->consoles, k) {
		if (!k->client->admin)
			return k;
	}
	return NULL;
}

static void admin_turn_away(struct client *c)
{
	c->ss->tally.limits_hit[TALLY_max_console_conn][0]++;
	client_fail(c, CLOSE_MAX_CONSOLE_CONN);
}

/* max_console_conn. False: there is no room for c, which was closed. */
static bool admin_make_room(struct client *c)
{
	const unsigned max =
	    (unsigned)sessions_settings(c->ss)->max_console_conn;
	struct console *guest;

	if (max == 0 || c->own_user || catalog_consoles(c->ss->catalog) < max)
		return true;
	guest = c->admin ? find_guest(c->ss->admin) : NULL;
	admin_turn_away(guest != NULL ? guest->client : c);
	return guest != NULL;
}

static void on_admitted(struct client *c, const struct iovec *first)
{
	if (admin_make_room(c) && client_send_login(c, first) == 0)
		open_console(c);
}

static void admin_on_leave(struct client *c)
{
	struct console *const k = c->console;

	if (k == NULL)
		return;
	DL_DELETE(k->admin->consoles, k);
	catalog_count_console(c->ss->catalog, -1);
	handover_closed(k);
	console_show_drop(k);
	console_fini_extended(k);
	writer_fini(&k->out);
	mem_free(k);
	c->console = NULL;
}

/* --- what it sends --- */

/* FunctionCall, as the reference answers it. */
static void on_unsupported(struct console *k, struct reader *body)
{
	struct client *const c = k->client;
	struct err e;

	(void)body;
	err_set(&e, ERRCODE_PROTOCOL_VIOLATION,
	    "unsupported packet type for admin console: %d", FE_FUNCTION_CALL);
	k->extended = false;
	console_error(k, &e);
	console_send(k);
	client_fail(c, CLOSE_BAD_PACKET);
}

static void admin_on_query(struct console *k, struct reader *body)
{
	const char *const query = reader_str(body);

	k->extended = false;
	if (sessions_settings(k->client->ss)->disable_pqexec)
		client_fail(k->client, CLOSE_PQEXEC_DISALLOWED);
	else if (query == NULL || reader_left(body) > 0)
		client_fail(k->client, CLOSE_BAD_PACKET);
	else
		console_query(k, query);
}

static void admin_on_sync(struct console *k, struct reader *body)
{
	(void)body;
	console_sync(k);
}

/* Replies leave as they come; there is nothing to push. */
static void on_nothing(struct console *k, struct reader *body)
{
	(void)k;
	(void)body;
}

static void admin_on_terminate(struct console *k, struct reader *body)
{
	(void)body;
	client_close(k->client, CLOSE_CONSOLE_CLOSE_REQUEST);
}

struct kind {
	/* Each may close the client. */
	void (*run)(struct console *k, struct reader *body);
	bool skip;		/* its body doesn't matter: not kept */
	bool always;		/* heard even while skipping to Sync */
};

/* (spec/admin-console.md section 2) */
static const struct kind kinds[256] = {
	[FE_QUERY] = { .run = admin_on_query },
	[FE_PARSE] = { .run = console_parse },
	[FE_BIND] = { .run = console_bind },
	[FE_DESCRIBE] = { .run = console_describe },
	[FE_EXECUTE] = { .run = console_execute },
	[FE_CLOSE] = { .run = console_close },
	[FE_SYNC] = { .run = admin_on_sync, .always = true },
	[FE_FLUSH] = { .run = on_nothing },
	[FE_TERMINATE] = { .run = admin_on_terminate, .skip = true,
	    .always = true },
	[FE_FUNCTION_CALL] = { .run = on_unsupported, .skip = true },
	[FE_COPY_DATA] = { .run = on_nothing, .skip = true },
	[FE_COPY_DONE] = { .run = on_nothing, .skip = true },
	[FE_COPY_FAIL] = { .run = on_nothing, .skip = true },
};

/* One message, taken out of the buffer that it came in. */
struct message {
	const struct kind *kind;	/* NULL: it is not whole yet */
	uint8_t *body;			/* owned; NULL = empty */
	size_t len;
	struct close_cause bad;		/* it ends the session, unless of
					 * CLOSE_NONE */
	char bad_text[MSG_BAD_TEXT];
};

static size_t admin_pass_over(struct client *c, size_t left)
{
	const size_t n = left < c->rest.bytes ? left : c->rest.bytes;

	c->rest.bytes -= (uint32_t)n;
	return n;
}

/* A message that counts as a whole. Returns its size; 0: it is not here yet. */
static size_t take_whole(const struct burst *b, size_t size,
    struct message *m)
{
	m->len = size - MSG_HEADER;
	if (size > QUERY_MAX) {
		m->bad = close_cause(CLOSE_CONSOLE_QUERY_TOO_LONG);
		return 0;
	}
	if (b->len < size)
		return 0;
	/* running it may use the shared buffer for others */
	m->body = mem_alloc(size);
	if (m->body == NULL) {
		m->bad = close_cause(CLOSE_NO_MEM);
		return 0;
	}
	memcpy(m->body, b->at + MSG_HEADER, m->len);
	m->kind = &kinds[b->at[0]];
	return size;
}

/* Returns the bytes that are done with; 0 when more must come first. */
static size_t admin_next_message(struct client *c, const struct burst *b,
    struct message *m)
{
	*m = (struct message){ .kind = NULL };
	if (c->rest.bytes > 0)
		return admin_pass_over(c, b->len);
	if (b->len < MSG_HEADER)
		return 0;
	const size_t size = msg_size(b->at,
	    sessions_longest(c->ss, MSG_MAX_UP));
	const struct kind *const kind = &kinds[b->at[0]];

	if (size == 0) {
		m->bad = (struct close_cause){
			.reason = CLOSE_BAD_PACKET_HEADER,
			.text = msg_bad_header(b->at, b->len, m->bad_text),
		};
		return 0;
	}
	if (kind->run == NULL) {
		m->bad = close_cause(CLOSE_UNKNOWN_PKT);
		return 0;
	}
	if (!kind->skip)
		return take_whole(b, size, m);
	m->kind = kind;
	c->rest.bytes = (uint32_t)size;
	return admin_pass_over(c, b->len);
}

/* As the reference: one query and one transaction a console, its first. */
static void admin_count(struct console *k)
{
	struct counters *const n = &k->client->pc.pool->counted.now;

	if (k->counted)
		return;
	k->counted = true;
	n->query_count++;
	n->xact_count++;
	wheel_wake(&k->client->pc.pool->wheel);
}

/* May close the client. */
static void act(struct client *c, struct message *m)
{
	struct console *const k = c->console;
	struct reader body;

	if (m->bad.reason != CLOSE_NONE) {
		client_fail_cause(c, m->bad);
	} else if (m->kind != NULL && (!k->skipping || m->kind->always)) {
		admin_count(k);
		reader_init(&body, m->body, m->len);
		k->extended = true;
		m->kind->run(k, &body);
	}
	mem_free(m->body);
}

/* Nothing is read while a command is blocked, or its reply not yet sent. */
static bool is_listening(const struct client *c)
{
	return c->console != NULL && c->console->wait == CONSOLE_READY &&
	    !stream_is_blocked(&c->stream);
}

/* By a command that may take for ever; who sends no more may still read rows. */
static bool is_blocked(const struct console *k)
{
	return k->wait != CONSOLE_READY && k->wait != CONSOLE_SHOW;
}

/* Done for this turn; more: there is something to look at in the next. */
static void admin_settle(struct client *c, bool more)
{
	if (c->console == NULL)
		return;
	if (is_blocked(c->console) && c->stream.hup)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	else if (is_listening(c) && (more || stream_is_ready(&c->stream)))
		admin_go_on(c);
}

/* One message a time: a command may make others use the shared buffer. */
static void admin_work(struct client *c, struct burst *b)
{
	bool more = true;

	for (int i = 0; more && i < TURN_MAX && is_listening(c); i++) {
		struct message m;
		const size_t used = admin_next_message(c, b, &m);

		if (carry_rest(&c->carry, b, used) < 0) {
			mem_free(m.body);
			client_fail(c, CLOSE_NO_MEM);
			return;
		}
		act(c, &m);
		more = used > 0 && carry_again(&c->carry, b);
	}
	admin_settle(c, more);
}

/* No more comes, but what came before a long answer is still to be run. */
static void admin_finish(struct client *c, struct burst *b)
{
	const uint32_t had = c->carry.len;

	admin_work(c, b);
	if (c->console == NULL || !is_listening(c))
		return;
	if (c->carry.len < had)
		admin_go_on(c);
	else
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
}

static void admin_on_input(struct client *c)
{
	struct burst b;

	if (c->console->wait == CONSOLE_SHOW) {
		console_show_go_on(c->console);
		return;
	}
	if (is_blocked(c->console) && c->stream.hup) {
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return;
	}
	if (!is_listening(c))
		return;
	const ssize_t n = carry_read(&c->carry, &c->stream, &b, 2 * QUERY_MAX);

	if (n == STREAM_NONE && !carry_again(&c->carry, &b))
		return;
	if (n == STREAM_EOF && carry_again(&c->carry, &b)) {
		admin_finish(c, &b);
		return;
	}
	if (n < 0) {
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return;
	}
	if (n > 0)
		c->request_time = time_now();
	admin_work(c, &b);
}

static void admin_on_drained(struct client *c)
{
	if (c->stream.broken)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	else
		admin_go_on(c);
}

static enum close_reason admin_on_cancel(struct client *c)
{
	admin_cancel(c);
	return CLOSE_CANCEL_CONSOLE_CLIENT;
}

static const struct client_role role = {
	.name = "console",
	.admitted = on_admitted,
	.input = admin_on_input,
	.drained = admin_on_drained,
	.cancel = admin_on_cancel,
	.leave = admin_on_leave,
};

const struct client_role *admin_role(void)
{
	return &role;
}
