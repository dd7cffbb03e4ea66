/* fuzz_app_session.c - whole sessions, cut, suspended and handed over at any place.
 *
 * Two clients share one server in transaction pooling. The bytes are steps: a
 * client says something, some of it arrives, the server answers some, a turn of
 * the loop passes, all is suspended, goes on, or goes to another process. In the
 * end each client has got what a server of its own would have told it.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "app/app.h"
#include "model_sql.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/loop.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "session/broker.h"
#include "session/client.h"
#include "session/relay.h"
#include "session/suspension.h"
#include "session/snapshot.h"
#include "session/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLIENTS 2
#define STEPS 600	/* bytes */
#define PATIENCE 200	/* turns until all must have come to rest */

/* A client's side: what it has still to send, what it got, what it should. */
struct peer_end {
	int fd;
	struct writer unsent, got;
	struct backend own;
	struct client *c;
};

struct world {
	struct app *app, *spare;	/* the process, and the one to come */
	struct pool *pool;
	struct peer_end client[CLIENTS];
	struct backend backend;
	int backend_fd;
	bool suspended;
};

static struct app apps[2];
static struct world *now;	/* the one that is driven */

/* --- the process --- */

static void ignore_line(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

static struct config *load(void)
{
	static const char text[] = "[databases]\np0 = host=/nowhere\n"
	    "[pgbouncer]\npool_mode = transaction\nauth_type = trust\n"
	    "default_pool_size = 1\nmax_prepared_statements = 2\n"
	    "query_wait_notify = 0\nlog_pooler_errors = 0\n"
	    "auth_file = /dev/null\nlisten_port = 6432\n";
	char path[] = "/tmp/fuzz_app_session.XXXXXX";
	const int fd = mkstemp(path);
	struct err e;

	assert(fd >= 0 && write(fd, text, sizeof text - 1) > 0);
	close(fd);
	struct config *c = config_load(path, NULL, ignore_line, NULL, &e);

	unlink(path);
	assert(c != NULL);
	return c;
}

static void on_closed(struct client *c)
{
	for (int i = 0; now != NULL && i < CLIENTS; i++)
		if (now->client[i].c == c)
			now->client[i].c = NULL;
	relay_role()->leave(c);
}

static void start(struct app *app)
{
	static struct client_role watched;

	app->config = load();
	assert(app_init(app) == 0);
	watched = *relay_role();
	watched.leave = on_closed;
	app->ss.client_ops.relay = &watched;
	app->loop = app->ss.loop = loop_new();
	assert(app->loop != NULL);
}

static void end_turn(void *arg)
{
	loop_stop(((struct app *)arg)->loop);
}

static void on_task(struct loop_task *t)
{
	(void)t;
}

/* It does not sleep. */
static void turn_of(struct app *app)
{
	struct loop_task awake = { .run = on_task };

	loop_again(app->loop, &awake);
	loop_run(app->loop, end_turn, app);
}

static struct pool *pool_of(struct app *app)
{
	struct catalog *cat = app->catalog;
	struct pool *p = catalog_get_pool(cat, catalog_find_database(cat, "p0"),
	    catalog_get_user(cat, "app"));

	assert(p != NULL);
	return p;
}

static struct params *zone(struct app *app, const char *value)
{
	struct params *p = params_empty(app->ss.params);
	const int i = params_find(app->ss.params, "TimeZone");

	assert(i >= 0 && params_set(&p, i, value) == 0);
	return p;
}

static void greet_with(struct app *app, struct pool *p)
{
	if (p->welcome != NULL)
		return;
	p->welcome = mem_zalloc(sizeof *p->welcome);
	assert(p->welcome != NULL);
	p->welcome->params = zone(app, "D");
}

/* --- connections --- */

static int connect_pair(int *theirs)
{
	int fd[2];

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	*theirs = fd[0];
	return fd[1];
}

static void add_client(struct world *w, int i)
{
	static const char *const zones[CLIENTS] = { "U0", "U1" };
	struct sessions *ss = &w->app->ss;
	struct peer_end *e = &w->client[i];
	const struct net_addr addr = { .family = NET_UNIX };

	writer_init(&e->unsent, 1 << 24);
	writer_init(&e->got, 1 << 24);
	backend_init(&e->own, zones[i]);
	struct client *c = client_open(ss, connect_pair(&e->fd), &addr);

	assert(c != NULL);
	client_become(c, ss->client_ops.relay);
	client_enter(c, w->pool->key.db, w->pool->key.user);
	c->pc.pool = w->pool;
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	params_unref(&c->params);
	c->params = zone(w->app, zones[i]);
	c->relay.start = params_ref(c->params);
	c->welcomed = true;
	client_new_key(c);
	e->c = c;
}

/* One that has no session but is new, in the place of what was closed. */
static void add_server(struct world *w)
{
	if (w->backend_fd >= 0) {
		close(w->backend_fd);
		backend_fini(&w->backend);
	}
	backend_init(&w->backend, "D");
	struct server *s = server_adopt(&w->app->ss, w->pool,
	    connect_pair(&w->backend_fd));

	assert(s != NULL);
	params_unref(&s->params);
	s->params = zone(w->app, "D");
	s->origin.set = params_ref(s->params);
	s->track.ready = true;
	s->track.status = 'I';
	if (w->suspended)
		stream_suspend(&s->stream);
}

static void turn(struct world *w)
{
	turn_of(w->app);
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
#define RESET 12
#define DISCARD 13

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
	else if (type == FE_EXECUTE)
		writer_u32(&e->unsent, 0);
	writer_end(&e->unsent);
}

static void put_parse(struct peer_end *e, const char *name, const char *text)
{
	put(e, FE_PARSE, name, strlen(name) + 1, text);
}

static void put_run(struct peer_end *e, const char *name)
{
	put(e, FE_BIND, "", 1, name);
	put(e, FE_EXECUTE, "", 1, NULL);
}

/* The unnamed statement belongs to whoever has the server: it is run at once. */
static void put_unnamed(struct peer_end *e, unsigned text)
{
	/* of a RESET that changes nothing on the server nothing is known */
	if (text == RESET)
		text = DISCARD;
	put_parse(e, "", texts[text]);
	put_run(e, "");
	/* what is behind it in its batch has the pool's value */
	if (text >= SAFE)
		put(e, FE_SYNC, "", 0, NULL);
}

static void speak(struct peer_end *e, uint8_t what)
{
	const char *name = names[(what >> 3) % 3];
	const unsigned text = what >> 4;
	const size_t before = e->unsent.len;

	switch (what & 7) {
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
	/* whatever clients have half sent */
	while (suspension_turn(ss, true) > 0) {
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
		.database = "p0", .state = state->at, .len = state->len };
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
	turn_of(app);
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
	w->pool = pool_of(w->app);
	greet_with(w->app, w->pool);
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
		speak(e, arg);
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
		else if (arg & 1)
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
	turn_of(w->app);
	while ((s = the_server(w->pool)) != NULL)
		server_close(s, CLOSE_SHUTDOWN);
	turn_of(w->app);
	now = NULL;
	close(w->backend_fd);
	backend_fini(&w->backend);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .app = &apps[0], .spare = &apps[1],
		.backend_fd = -1 };

	if (apps[0].loop == NULL) {
		log_setup(&(struct log_opts){ .quiet = true });
		start(&apps[0]);
		start(&apps[1]);
	}
	now = &w;
	w.pool = pool_of(w.app);
	greet_with(w.app, w.pool);
	for (int i = 0; i < CLIENTS; i++)
		add_client(&w, i);
	add_server(&w);
	for (size_t i = 0; i + 1 < size && i < STEPS; i += 2)
		step(&w, data[i], data[i + 1]);
	/* whoever has a transaction open ends it: the other one waits for it */
	for (int i = 0; i < CLIENTS; i++) {
		speak(&w.client[i], 7);
		speak(&w.client[i], 4 << 4);
	}
	settle(&w);
	for (int i = 0; i < CLIENTS; i++)
		compare(&w.client[i]);
	finish(&w);
	return 0;
}
