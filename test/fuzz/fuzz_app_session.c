/* fuzz_app_session.c - whole sessions, cut, suspended and handed over at any place.
 *
 * Two clients share one server, by transactions or sessions. The bytes are steps: a
 * client says something, some of it arrives, the server answers some, a turn of
 * the loop passes, all is suspended, goes on, or goes to another process. In the
 * end each client has got what a server of its own would have told it.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/app.h"
#include "base/err.h"
#include "base/time.h"
#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "model_app.h"
#include "model_sql.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "transfer/snapshot.h"
#include "transfer/suspension.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLIENTS 2
#define STEPS 600	/* bytes */
#define PATIENCE 200	/* turns until all must have come to rest */

/* A client's side: what it has still to send, what it got, what it should. */
struct peer_end {
	int fd;
	struct writer unsent, got;
	struct backend own;
	struct client *c, *guest;	/* guest: before its login is over */
};

struct world {
	struct app *app, *spare;	/* the process, and the one to come */
	const char *database;
	struct pool *pool;
	struct peer_end client[CLIENTS];
	struct backend backend;
	int backend_fd;
	bool suspended;
	bool logins;		/* clients have to log in */
};

static struct app apps[2];
static struct world *now;	/* the one that is driven */

/* --- connections --- */

static void on_closed(struct client *c)
{
	for (int i = 0; now != NULL && i < CLIENTS; i++)
		if (now->client[i].c == c)
			now->client[i].c = NULL;
}

static void on_admitted(struct client *c)
{
	for (int i = 0; i < CLIENTS; i++)
		if (now->client[i].guest == c)
			now->client[i].c = c;
}

static const char *const zones[CLIENTS] = { "U0", "U1" };

static void put_startup(struct writer *w, const char *database,
    const char *zone)
{
	const char *const words[] = { "user", "app", "database", database,
		"TimeZone", zone, "" };
	const size_t from = w->len;

	writer_u32(w, 0);
	writer_u32(w, 3 << 16);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		writer_str(w, words[i]);
	msg_put_u32(w->at + from, (uint32_t)(w->len - from));
}

static void add_client(struct world *w, int i)
{
	struct peer_end *e = &w->client[i];

	writer_init(&e->unsent, 1 << 24);
	writer_init(&e->got, 1 << 24);
	backend_init(&e->own, zones[i]);
	if (!w->logins) {
		e->c = pooled_client(w->app, w->pool, zones[i], &e->fd);
		return;
	}
	put_startup(&e->unsent, w->database, zones[i]);
	e->guest = pooled_login(w->app, &e->fd);
}

/* One that has no session but is new, in the place of what was closed. */
static void add_server(struct world *w)
{
	if (w->backend_fd >= 0) {
		close(w->backend_fd);
		backend_fini(&w->backend);
	}
	backend_init(&w->backend, POOLED_ZONE);
	struct server *s = pooled_server(w->app, w->pool, &w->backend_fd);

	if (w->suspended)
		stream_suspend(&s->stream);
	/* its login would have renewed what clients are told */
	w->pool->doubted = false;
	broker_welcome_all(w->pool);
}

static void turn(struct world *w)
{
	time_update();
	pooled_turn(w->app);
	if (pool_total(w->pool) == 0)
		add_server(w);
	if (w->suspended)
		(void)suspension_turn(&w->app->ss, true);
	broker_turn(&w->app->ss);
	assert(pool_total(w->pool) <= 1);
}

/* --- what clients say --- */

static const char *const names[] = { "a", "b", "c" };
static const char *const texts[] = { "select 1", "begin", "commit", "select 2",
	"rollback", "fail", "show timezone", "set timezone='A'",
	"deallocate all", "set timezone='D'", "", "select 3",
	"reset timezone", "discard all", "deallocate a", "deallocate b" };
#define SAFE 12		/* of these may be a named statement */
#define OTHER 8		/* kinds of what is said */

static void put(struct peer_end *e, char type, const char *head, size_t n,
    const char *tail)
{
	writer_begin(&e->unsent, type);
	writer_bytes(&e->unsent, head, n);
	if (tail != NULL)
		writer_str(&e->unsent, tail);
	if (type == FE_PARSE)
		writer_u16(&e->unsent, 0);
	else if (type == FE_BIND)
		writer_bytes(&e->unsent, "\0\0\0\0\0\0", 6);
	writer_end(&e->unsent);
}

static void put_parse(struct peer_end *e, const char *name, const char *text)
{
	put(e, FE_PARSE, name, strlen(name) + 1, text);
}

static void put_execute(struct peer_end *e, uint8_t limit)
{
	const char body[] = { '\0', 0, 0, 0, (char)limit };

	put(e, FE_EXECUTE, body, sizeof body, NULL);
}

static void put_run(struct peer_end *e, const char *name)
{
	put(e, FE_BIND, "", 1, name);
	put_execute(e, 0);
}

/* The unnamed statement belongs to whoever has the server: it is run at once. */
static void put_unnamed(struct peer_end *e, unsigned text)
{
	put_parse(e, "", texts[text]);
	put_run(e, "");
	/* what is behind it in its batch has the pool's value */
	if (text >= SAFE)
		put(e, FE_SYNC, "", 0, NULL);
}

/* The data of a COPY, whether there is one or not. */
static void put_copy_data(struct peer_end *e, uint8_t what)
{
	for (unsigned n = what >> 4 & 3; n > 0; n--)
		put(e, FE_COPY_DATA, "row\n", 4, NULL);
	if (what & 0x40)
		put(e, FE_COPY_DONE, "", 0, NULL);
	else
		put(e, FE_COPY_FAIL, "", 0, "no more");
}

/* What else the protocol has: COPY, FunctionCall, some rows at a time. */
static void put_other(struct peer_end *e, uint8_t what)
{
	const char *text = what & 8 ? "copy view" : "copy in";

	switch (what & 7) {
	case 0:
		put(e, FE_QUERY, "", 0, text);
		put_copy_data(e, what);
		break;
	case 1:
		put_parse(e, "", text);
		put_run(e, "");
		if (what & 0x80)
			put(e, FE_SYNC, "", 0, NULL);
		put_copy_data(e, what);
		put(e, FE_SYNC, "", 0, NULL);
		break;
	case 2:
		put(e, FE_QUERY, "", 0, "copy out");
		break;
	case 3:
		put_parse(e, "", "copy out");
		put_run(e, "");
		break;
	case 4:
		put(e, FE_FUNCTION_CALL, "\0\0\0\1\0\0\0\0\0\0", 10, NULL);
		break;
	case 5:
		put_parse(e, "", "stream");
		put(e, FE_BIND, "", 1, "");
		put_execute(e, what >> 4 & 3);
		break;
	case 6:
		put_execute(e, what >> 4 & 3);
		break;
	default:
		put(e, FE_QUERY, "", 0, "stream");
	}
}

static void speak(struct peer_end *e, uint8_t what, bool other)
{
	const char *name = names[(what >> 3) % 3];
	const unsigned text = what >> 4;
	const size_t before = e->unsent.len;

	switch (other ? OTHER : what & 7) {
	case OTHER:
		put_other(e, what);
		break;
	case 0:
		put(e, FE_QUERY, "", 0, texts[text]);
		break;
	case 1:
		put_parse(e, name, texts[text % SAFE]);
		break;
	case 2:
		put_run(e, name);
		break;
	case 3:
		put(e, FE_DESCRIBE, "S", 1, name);
		break;
	case 4:
		put(e, FE_CLOSE, "S", 1, name);
		break;
	case 5:
		put_unnamed(e, text);
		break;
	case 6:
		put(e, FE_FLUSH, "", 0, NULL);
		break;
	default:
		put(e, FE_SYNC, "", 0, NULL);
	}
	backend_take(&e->own, e->unsent.at + before, e->unsent.len - before);
}

/* --- bytes on their way --- */

/* At most n bytes from w to fd. */
static bool send_some(int fd, struct writer *w, size_t n)
{
	const size_t want = n < w->len ? n : w->len;
	const ssize_t done = want == 0 ? 0 : send(fd, w->at, want,
	    MSG_NOSIGNAL);

	if (done <= 0)
		return false;
	memmove(w->at, w->at + done, w->len - (size_t)done);
	w->len -= (size_t)done;
	return true;
}

static bool hear(struct peer_end *e)
{
	uint8_t buf[4096];
	const ssize_t n = recv(e->fd, buf, sizeof buf, 0);

	if (n > 0)
		writer_bytes(&e->got, buf, (size_t)n);
	return n > 0;
}

static bool serve(struct world *w)
{
	uint8_t buf[4096];
	const ssize_t n = recv(w->backend_fd, buf, sizeof buf, 0);

	if (n > 0)
		backend_take(&w->backend, buf, (size_t)n);
	return n > 0;
}

/* --- standing still --- */

static bool move(struct world *w)
{
	bool moved = serve(w);

	moved = send_some(w->backend_fd, &w->backend.out, SIZE_MAX) || moved;
	for (int i = 0; i < CLIENTS; i++)
		moved = hear(&w->client[i]) || moved;
	return moved;
}

static void suspend(struct world *w)
{
	struct sessions *ss = &w->app->ss;
	int turns = 0;

	ss->suspended = w->suspended = true;
	/* whatever clients have half sent; who logs in is waited for a little */
	while (suspension_turn(ss, turns < PATIENCE / 2) > 0) {
		(void)move(w);
		turn(w);
		assert(++turns < PATIENCE);
	}
}

static void resume(struct world *w)
{
	w->app->ss.suspended = w->suspended = false;
	suspension_end(&w->app->ss);
}

static void write_handover(struct writer *out, const struct client *c,
    const struct server *s)
{
	writer_init(out, 1 << 24);
	if (c != NULL)
		snapshot_write_client(c, out);
	else
		snapshot_write_server(s, out);
	assert(!out->failed);
}

static struct snapshot row(struct writer *state, int fd)
{
	return (struct snapshot){ .fd = dup(fd), .user = "app",
		.database = now->database, .state = state->at, .len = state->len };
}

static struct client *move_client(struct world *w, struct client *c)
{
	struct writer state;
	struct err e;

	assert(snapshot_takes_client(c));
	write_handover(&state, c, NULL);
	const struct snapshot h = row(&state, c->stream.fd);
	struct client *const there = snapshot_read_client(&w->spare->ss, &h, &e);

	assert(there != NULL);
	writer_fini(&state);
	return there;
}

static struct server *move_server(struct world *w, struct server *s)
{
	struct writer state;
	struct err e;

	assert(snapshot_takes_server(s));
	write_handover(&state, NULL, s);
	const struct snapshot h = row(&state, s->stream.fd);
	struct server *const there = snapshot_read_server(&w->spare->ss, &h, &e);

	assert(there != NULL);
	writer_fini(&state);
	return there;
}

/* The one server of a pool at rest. */
static struct server *the_server(const struct pool *p)
{
	struct pool_server *ps = p->servers[SERVER_ACTIVE] != NULL ?
	    p->servers[SERVER_ACTIVE] : p->servers[SERVER_IDLE];

	return ps == NULL ? NULL : server_of(ps);
}

/* What is left in the old process: nobody is told anything. */
static void close_old(struct app *app, struct client **old, struct server *s)
{
	for (int i = 0; i < CLIENTS; i++)
		if (old[i] != NULL)
			old[i]->stream.broken = true;
	if (s != NULL) {
		s->stream.broken = true;
		server_close(s, CLOSE_SHUTDOWN);
	}
	for (int i = 0; i < CLIENTS; i++)
		if (old[i] != NULL && client_is_open(old[i]))
			client_close(old[i], CLOSE_SHUTDOWN);
	app->ss.suspended = app->ss.still = false;
	pooled_turn(app);
}

/* Who logs in stays behind; here, then, all do. */
static bool is_movable(const struct world *w)
{
	for (int i = 0; i < CLIENTS; i++)
		if (w->client[i].c != NULL ? client_logs_in(w->client[i].c) :
		    w->logins && w->client[i].got.len == 0)
			return false;
	return true;
}

static void hand_over(struct world *w)
{
	struct app *const from = w->app;
	struct client *old[CLIENTS];
	struct server *old_server = the_server(w->pool), *s = NULL;

	w->spare->ss.suspended = w->spare->ss.still = true;
	if (old_server != NULL)
		s = move_server(w, old_server);
	for (int i = 0; i < CLIENTS; i++) {
		struct peer_end *e = &w->client[i];

		old[i] = e->c;
		if (e->c == NULL)
			continue;
		const bool linked = e->c->pc.server != NULL;

		e->c = move_client(w, e->c);
		if (linked)
			snapshot_link(e->c, s);
	}
	w->app = w->spare;
	w->spare = from;
	w->pool = pooled_pool(w->app, w->database);
	close_old(from, old, old_server);
	resume(w);
	for (int i = 0; i < CLIENTS; i++)
		if (w->client[i].c != NULL)
			snapshot_go_on(w->client[i].c);
}

/* --- the whole --- */

static void step(struct world *w, uint8_t what, uint8_t arg)
{
	struct peer_end *e = &w->client[what & 1];

	switch (what >> 1 & 7) {
	case 0:
	case 1:
	case 2:
		speak(e, arg, (what & 0x20) != 0);
		break;
	case 3:
		(void)send_some(e->fd, &e->unsent, (size_t)arg + 1);
		break;
	case 4:
		(void)serve(w);
		break;
	case 5:
		(void)send_some(w->backend_fd, &w->backend.out,
		    (size_t)arg + 1);
		break;
	case 6:
		turn(w);
		break;
	default:
		if (!w->suspended)
			suspend(w);
		else if ((arg & 1) && is_movable(w))
			hand_over(w);
		else
			resume(w);
	}
}

/* All that is under way arrives; then nothing moves any more. */
static void settle(struct world *w)
{
	if (w->suspended)
		resume(w);
	for (int quiet = 0, turns = 0; quiet < 4; turns++) {
		bool moved = false;

		for (int i = 0; i < CLIENTS; i++)
			moved = send_some(w->client[i].fd, &w->client[i].unsent,
			    SIZE_MAX) || moved;
		turn(w);
		moved = move(w) || moved;
		quiet = moved ? 0 : quiet + 1;
		assert(turns < 10000);
	}
}

/* Whoever has the server goes, so that the other one gets it. */
static void take_leave(struct world *w)
{
	for (int i = 0; i < CLIENTS; i++) {
		struct peer_end *e = &w->client[i];

		if (e->c == NULL || e->c->pc.server == NULL)
			continue;
		put(e, FE_TERMINATE, "", 0, NULL);
		settle(w);
	}
}

/* What a login ends with goes. */
static void forget_welcome(struct peer_end *e, const char *zone)
{
	struct writer *const got = &e->got;
	size_t n = 0;
	char type = '\0';

	while (type != BE_READY_FOR_QUERY) {
		assert(got->len - n >= MSG_HEADER);
		type = (char)got->at[n];
		n += msg_size(got->at + n, 1 << 20);
		assert(type != BE_ERROR_RESPONSE && n <= got->len);
	}
	assert(memmem(got->at, n, zone, strlen(zone)) != NULL);
	memmove(got->at, got->at + n, got->len - n);
	got->len -= n;
}

static void compare(const struct peer_end *e)
{
	const struct writer *got = &e->got, *want = &e->own.out;
	size_t n = 0;

	while (n < got->len && n < want->len && got->at[n] == want->at[n])
		n++;
	if (n == got->len && n == want->len)
		return;
	const size_t from = n < 64 ? 0 : n - 64;

	fprintf(stderr, "differs at %zu: got %zu, want %zu\n", n, got->len,
	    want->len);
	fwrite(got->at + from, 1, got->len - from, stderr);
	fputs("\n--- want\n", stderr);
	fwrite(want->at + from, 1, want->len - from, stderr);
	abort();
}

static void finish(struct world *w)
{
	struct server *s;

	for (int i = 0; i < CLIENTS; i++) {
		struct peer_end *e = &w->client[i];

		close(e->fd);
		writer_fini(&e->unsent);
		writer_fini(&e->got);
		backend_fini(&e->own);
	}
	pooled_turn(w->app);
	while ((s = the_server(w->pool)) != NULL)
		server_close(s, CLOSE_SHUTDOWN);
	pooled_turn(w->app);
	now = NULL;
	close(w->backend_fd);
	backend_fini(&w->backend);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pooled_told told = { on_admitted, on_closed };
	struct world w = { .app = &apps[0], .spare = &apps[1],
		.backend_fd = -1, .database = "p0" };

	/* the first byte says also how servers are lent, and to whom */
	if (size > 0 && (data[0] & 0x80) != 0)
		w.database = "p1";
	w.logins = size > 0 && (data[0] & 0x40) != 0;
	if (apps[0].loop == NULL) {
		pooled_start(&apps[0], &told);
		pooled_start(&apps[1], &told);
	}
	now = &w;
	w.pool = pooled_pool(w.app, w.database);
	for (int i = 0; i < CLIENTS; i++)
		add_client(&w, i);
	add_server(&w);
	for (size_t i = 0; i + 1 < size && i < STEPS; i += 2)
		step(&w, data[i], data[i + 1]);
	/* whoever has a transaction open ends it: the other one waits for it */
	for (int i = 0; i < CLIENTS; i++) {
		speak(&w.client[i], 7, false);
		speak(&w.client[i], 4 << 4, false);
	}
	settle(&w);
	if (w.pool->limits.mode == POOL_SESSION)
		take_leave(&w);
	for (int i = 0; i < CLIENTS; i++) {
		if (w.logins)
			forget_welcome(&w.client[i], zones[i]);
		compare(&w.client[i]);
	}
	finish(&w);
	return 0;
}
