/* fuzz_app_relay.c - named statements are rewritten soundly, whatever is sent.
 *
 * Two clients share a server and its table of statements. The bytes are steps:
 * a client says something sound or broken, some of it arrives, the server
 * answers what it got, refuses it, or says something of its own. What reaches
 * the server is always whole messages, and no name in them is a client's.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/app.h"
#include "broker/broker.h"
#include "model_app.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "session/client.h"
#include "session/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLIENTS 2
#define STEPS 400
#define CAP (1 << 24)
#define MESSAGE_MAX INT32_MAX

struct input {
	const uint8_t *at;
	size_t left;
};

struct end {
	int fd;
	struct client *c;	/* NULL: closed */
	struct writer unsent;
};

struct world {
	struct app *app;
	struct pool *pool;
	struct end client[CLIENTS];
	int server_fd;
	struct writer asked, said;	/* of the server */
	bool skips;		/* an error: up to Sync */
	bool lied;		/* the server has said what was not asked */
};

static struct app the_app;
static struct world *now;

static uint8_t next(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static void drop(struct writer *w, size_t n)
{
	memmove(w->at, w->at + n, w->len - n);
	w->len -= n;
}

/* --- the pooler --- */

static void on_closed(struct client *c)
{
	for (int i = 0; now != NULL && i < CLIENTS; i++)
		if (now->client[i].c == c)
			now->client[i].c = NULL;
}

static void open_client(struct world *w, struct end *e)
{
	writer_init(&e->unsent, CAP);
	e->c = pooled_client(w->app, w->pool, POOLED_ZONE, &e->fd);
}

static void close_client(struct end *e)
{
	close(e->fd);
	writer_fini(&e->unsent);
}

static void open_server(struct world *w)
{
	writer_init(&w->asked, CAP);
	writer_init(&w->said, CAP);
	w->skips = w->lied = false;
	(void)pooled_server(w->app, w->pool, &w->server_fd);
}

static void close_server(struct world *w)
{
	close(w->server_fd);
	writer_fini(&w->asked);
	writer_fini(&w->said);
}

static void turn(struct world *w)
{
	pooled_turn(w->app);
	if (pool_total(w->pool) == 0) {
		close_server(w);
		open_server(w);
	}
	broker_turn(&w->app->ss);
}

/* --- what is said --- */

/* Not as it was meant: another length, or another byte somewhere. */
static void spoil(struct writer *w, size_t from, uint8_t shape,
    struct input *in)
{
	uint8_t *const m = w->at + from;
	const size_t size = w->len - from;

	if (shape & 0x40)
		m[1 + next(in) % 4] = next(in);
	if (shape & 0x80)
		m[next(in) % size] = next(in);
}

static const char *const names[] = { "", "a", "b", "c" };

static void say_as_client(struct end *e, struct input *in)
{
	static const char types[] = { FE_PARSE, FE_BIND, FE_DESCRIBE, FE_CLOSE,
		FE_EXECUTE, FE_SYNC, FE_FLUSH, FE_QUERY, FE_PARSE, FE_BIND,
		FE_BIND, FE_CLOSE, FE_COPY_DATA, FE_COPY_DONE, FE_SYNC,
		FE_FUNCTION_CALL };
	static const char *const texts[] = { "select 1", "deallocate a",
		"discard all", "" };
	const char type = types[next(in) % sizeof types];
	const uint8_t shape = next(in);
	const char *name = names[shape & 3], *text = texts[shape >> 2 & 3];
	struct writer *w = &e->unsent;
	const size_t from = w->len;

	writer_begin(w, type);
	switch (type) {
	case FE_PARSE:
		writer_str(w, name);
		writer_str(w, text);
		writer_u16(w, 0);
		break;
	case FE_BIND:
		writer_str(w, shape & 0x20 ? "portal" : "");
		writer_str(w, name);
		writer_bytes(w, "\0\0\0\0\0\0", 6);
		break;
	case FE_DESCRIBE:
	case FE_CLOSE:
		writer_u8(w, shape & 0x20 ? 'P' : 'S');
		writer_str(w, name);
		break;
	case FE_EXECUTE:
		writer_str(w, "");
		writer_u32(w, shape >> 2 & 3);
		break;
	case FE_QUERY:
		writer_str(w, text);
		break;
	default:
		break;
	}
	/* of any length */
	if (shape & 0x10)
		for (uint8_t n = next(in); n > 0; n--)
			writer_bytes(w, "0123456789abcdef", 16);
	writer_end(w);
	spoil(w, from, shape, in);
}

/* --- the server --- */

static void say(struct world *w, char type, const void *p, size_t n)
{
	writer_begin(&w->said, type);
	writer_bytes(&w->said, p, n);
	writer_end(&w->said);
}

static void say_ready(struct world *w)
{
	w->skips = false;
	say(w, BE_READY_FOR_QUERY, "I", 1);
}

static void fail(struct world *w)
{
	static const char error[] = "SERROR\0VERROR\0C22012\0Mno\0";

	say(w, BE_ERROR_RESPONSE, error, sizeof error);
	w->skips = true;
}

/* Is it none of a client's? */
static bool is_ours(const uint8_t *p, size_t n)
{
	static const char ours[] = "PGBOUNCER_";
	const bool ends = memchr(p, '\0', n) != NULL;

	return ends && (p[0] == '\0' ||
	    strncmp((const char *)p, ours, sizeof ours - 1) == 0);
}

static void check_names(const uint8_t *m, size_t size)
{
	const uint8_t *body = m + MSG_HEADER;
	const uint8_t *const end = m + size;

	switch (m[0]) {
	case FE_BIND:
		body = memchr(body, '\0', (size_t)(end - body));
		assert(body != NULL && body + 1 < end);
		assert(is_ours(body + 1, (size_t)(end - body - 1)));
		break;
	case FE_PARSE:
		assert(is_ours(body, (size_t)(end - body)));
		break;
	case FE_DESCRIBE:
	case FE_CLOSE:
		assert(body + 1 < end);
		if (body[0] == 'S')
			assert(is_ours(body + 1, (size_t)(end - body - 1)));
		break;
	default:
		break;
	}
}

static void reply(struct world *w, const uint8_t *m)
{
	switch (m[0]) {
	case FE_PARSE:
		say(w, BE_PARSE_COMPLETE, "", 0);
		break;
	case FE_BIND:
		say(w, BE_BIND_COMPLETE, "", 0);
		break;
	case FE_DESCRIBE:
		if (m[MSG_HEADER] == 'S')
			say(w, BE_PARAMETER_DESCRIPTION, "\0", 2);
		say(w, BE_NO_DATA, "", 0);
		break;
	case FE_CLOSE:
		say(w, BE_CLOSE_COMPLETE, "", 0);
		break;
	case FE_QUERY:
		say(w, BE_COMMAND_COMPLETE, "SELECT 0", 9);
		say_ready(w);
		break;
	case FE_EXECUTE:
		say(w, BE_COMMAND_COMPLETE, "SELECT 0", 9);
		break;
	case FE_FUNCTION_CALL:
		say(w, BE_FUNCTION_CALL_RESPONSE, "\377\377\377\377", 4);
		say_ready(w);
		break;
	case FE_SYNC:
		say_ready(w);
		break;
	default:
		break;
	}
}

/* The server looks at the next message, if there is a whole one. */
static bool answer(struct world *w, bool well)
{
	uint8_t buf[4096];
	ssize_t n;

	while ((n = recv(w->server_fd, buf, sizeof buf, 0)) > 0)
		writer_bytes(&w->asked, buf, (size_t)n);
	if (w->asked.len < MSG_HEADER)
		return false;
	const uint8_t *const m = w->asked.at;
	const size_t size = msg_size(m, MESSAGE_MAX);

	assert(size > 0 && memchr("PBDCESHQFcdfX", m[0], 13) != NULL);
	if (size > w->asked.len)
		return false;
	/* in what may be a COPY, messages pass as they come */
	if (!w->lied)
		check_names(m, size);
	if (!w->skips && !well && m[0] != FE_SYNC && m[0] != FE_TERMINATE) {
		fail(w);
		if (m[0] == FE_QUERY || m[0] == FE_FUNCTION_CALL)
			say_ready(w);
	} else if (!w->skips || m[0] == FE_SYNC)
		reply(w, m);
	drop(&w->asked, size);
	return true;
}

static void say_unasked(struct world *w, struct input *in)
{
	static const char types[] = { BE_PARSE_COMPLETE, BE_BIND_COMPLETE,
		BE_CLOSE_COMPLETE, BE_NO_DATA, BE_ROW_DESCRIPTION, BE_DATA_ROW,
		BE_COMMAND_COMPLETE, BE_PORTAL_SUSPENDED, BE_ERROR_RESPONSE,
		BE_READY_FOR_QUERY, BE_COPY_IN_RESPONSE, BE_COPY_OUT_RESPONSE,
		BE_COPY_DONE, BE_NOTICE_RESPONSE, BE_PARAMETER_STATUS,
		BE_EMPTY_QUERY_RESPONSE };
	const uint8_t shape = next(in);
	const size_t from = w->said.len;

	w->lied = true;
	say(w, types[shape & 15], "I\0TimeZone\0U\0", shape >> 4 & 3);
	spoil(&w->said, from, shape, in);
}

/* --- bytes on their way --- */

static bool send_some(int fd, struct writer *w, size_t n)
{
	const size_t want = n < w->len ? n : w->len;
	const ssize_t done = want == 0 ? 0 : send(fd, w->at, want,
	    MSG_NOSIGNAL);

	if (done > 0)
		drop(w, (size_t)done);
	return done > 0;
}

static bool hear(const struct end *e)
{
	uint8_t buf[4096];

	return recv(e->fd, buf, sizeof buf, 0) > 0;
}

static void step(struct world *w, uint8_t what, struct input *in)
{
	struct end *e = &w->client[what & 1];

	if (e->c == NULL) {
		close_client(e);
		open_client(w, e);
	}
	switch (what >> 1 & 7) {
	case 0:
	case 1:
		say_as_client(e, in);
		break;
	case 2:
		(void)send_some(e->fd, &e->unsent, (size_t)next(in) + 1);
		break;
	case 3:
		(void)send_some(e->fd, &e->unsent, SIZE_MAX);
		turn(w);
		break;
	case 4:
		(void)answer(w, (what & 0x30) != 0);
		break;
	case 5:
		if (what & 0x80)
			say_unasked(w, in);
		(void)send_some(w->server_fd, &w->said, (size_t)next(in) + 1);
		break;
	case 6:
		(void)send_some(w->server_fd, &w->said, SIZE_MAX);
		(void)hear(e);
		break;
	default:
		turn(w);
	}
}

/* All that is under way arrives. */
static void settle(struct world *w)
{
	for (int quiet = 0, turns = 0; quiet < 3; turns++) {
		bool moved = false;

		for (int i = 0; i < CLIENTS; i++)
			moved = send_some(w->client[i].fd,
			    &w->client[i].unsent, SIZE_MAX) || moved;
		turn(w);
		while (answer(w, true))
			moved = true;
		moved = send_some(w->server_fd, &w->said, SIZE_MAX) || moved;
		for (int i = 0; i < CLIENTS; i++)
			while (hear(&w->client[i]))
				moved = true;
		quiet = moved ? 0 : quiet + 1;
		assert(turns < 10000);
	}
}

static void finish(struct world *w)
{
	struct prepared_table *const table = w->app->ss.prepared;
	struct pool_server *ps;

	for (int i = 0; i < CLIENTS; i++)
		close_client(&w->client[i]);
	pooled_turn(w->app);
	for (int i = 0; i < SERVER_STATES; i++)
		while ((ps = w->pool->servers[i]) != NULL)
			server_close(server_of(ps), CLOSE_SHUTDOWN);
	pooled_turn(w->app);
	now = NULL;
	close_server(w);
	/* nobody has a text any more */
	(void)prepared_table_make_room(table, 1, 1);
	assert(prepared_table_count(table) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct world w = { .app = &the_app };

	if (the_app.loop == NULL)
		pooled_start(&the_app,
		    &(struct pooled_told){ .closed = on_closed });
	now = &w;
	w.pool = pooled_pool(w.app, "p0");
	for (int i = 0; i < CLIENTS; i++)
		open_client(&w, &w.client[i]);
	open_server(&w);
	for (int i = 0; in.left > 0 && i < STEPS; i++)
		step(&w, next(&in), &in);
	settle(&w);
	finish(&w);
	return 0;
}
