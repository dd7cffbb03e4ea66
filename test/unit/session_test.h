/* session_test.h - a client, its server and their pool, for tests of what joins
 * them: with real sockets, and without a catalog, a login or a configuration.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_TEST_H
#define SESSION_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/time.h"
#include "conf/config.h"
#include "io/loop.h"
#include "pool/catalog.h"
#include "pool/latencies.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

#define SESSION_CLIENTS 4
#define SESSION_SERVERS 4

struct house {
	struct loop *loop;
	struct sessions ss;
	struct catalog cat;
	struct config config;
	struct config_db db_conf;
	struct database db;
	struct user user;
	struct pool pool;
	struct client_role role;	/* of all clients */
	struct client c[SESSION_CLIENTS];
	struct server s[SESSION_SERVERS];
	int c_end[SESSION_CLIENTS], s_end[SESSION_SERVERS];	/* the peers' */
	unsigned clients, servers;
};

static struct house house;

static void on_stream(struct stream *s)
{
	(void)s;
}

static inline void session_open(struct stream *s, int *end)
{
	static const struct stream_ops ops = { .readable = on_stream,
	    .drained = on_stream, .hangup = on_stream };
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(stream_open(s, house.loop, fd[0], &ops), 0);
	*end = fd[1];
}

static inline void session_describe(const struct log_who *who,
    struct log_facts *out)
{
	(void)who;
	*out = (struct log_facts){ .side = 'T', .database = "db",
		.user = "user" };
}

static inline struct client *session_client(enum client_state state)
{
	struct client *c = &house.c[house.clients];

	session_open(&c->stream, &house.c_end[house.clients++]);
	c->ss = &house.ss;
	c->who.describe = session_describe;
	c->db = &house.db;
	c->role = &house.role;
	c->params = params_empty(house.ss.params);
	c->pc.pool = &house.pool;
	c->pc.wait_since = time_now();
	pool_client_set(&c->pc, state);
	return c;
}

static inline void session_forget_op(void *op, void *arg)
{
	(void)op;
	(void)arg;
}

static inline struct server *session_server(enum server_state state)
{
	static const struct track_ops ops = { session_forget_op,
		session_forget_op };
	struct server *s = &house.s[house.servers];

	session_open(&s->stream, &house.s_end[house.servers++]);
	s->ss = &house.ss;
	s->who.describe = session_describe;
	s->phase = SERVER_PHASE_POOLED;
	s->params = params_empty(house.ss.params);
	s->key_len = 8;
	track_init(&s->track, &ops, s);
	s->track.status = 'I';
	s->track.ready = true;
	s->ps.pool = &house.pool;
	s->ps.state = SERVER_GONE;
	s->ps.born = s->ps.used = time_now();
	pool_server_set(&s->ps, state);
	return s;
}

/* As the broker does it. */
static inline void session_link(struct client *c, struct server *s)
{
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	pool_link(&c->pc, &s->ps);
}

/* A socket's other end says n bytes, which are to be read. */
static inline void session_say(struct stream *s, int end, const void *p,
    size_t n)
{
	time_update();	/* a turn begins */
	assert_int_equal(send(end, p, n, 0), n);
	s->ready = true;
}

/* That it has been told exactly this. */
static inline void session_heard(int end, const void *p, size_t n)
{
	char got[4096];
	const ssize_t len = recv(end, got, sizeof got, MSG_DONTWAIT);

	assert_int_equal(len < 0 ? 0 : len, n);
	assert_memory_equal(got, p, n);
}

/* --- what is said and heard, as a script --- */

#define SCRIPT_BYTES 4096

/* "P[s1|select 1|||]S[]" are two messages; a NUL is shown as |. */
static inline size_t script_write(const char *script, char *to)
{
	char *m = to;

	while (*script != '\0') {
		char *p = m + MSG_HEADER;

		*m = *script++;
		assert_int_equal(*script++, '[');
		for (; *script != ']'; script++)
			*p++ = *script == '|' ? '\0' : *script;
		script++;
		msg_put_u32((uint8_t *)m + 1, (uint32_t)(p - m - 1));
		m = p;
	}
	return (size_t)(m - to);
}

/* What end was told since this was asked last, as such a script. */
static inline const char *script_heard(int end)
{
	static char out[SCRIPT_BYTES];
	char got[SCRIPT_BYTES], *p = out;
	const ssize_t n = recv(end, got, sizeof got, MSG_DONTWAIT);

	for (ssize_t at = 0; at < n;) {
		const size_t size = msg_size((uint8_t *)got + at, SCRIPT_BYTES);

		assert_true(size > 0 && at + (ssize_t)size <= n);
		*p++ = got[at];
		*p++ = '[';
		for (size_t i = MSG_HEADER; i < size; i++)
			*p++ = got[at + (ssize_t)i] == '\0' ? '|' :
			    got[at + (ssize_t)i];
		*p++ = ']';
		at += (ssize_t)size;
	}
	*p = '\0';
	return out;
}

static inline int session_setup(void **state)
{
	(void)state;
	memset(&house, 0, sizeof house);
	house.loop = house.ss.loop = loop_new();
	house.ss.catalog = &house.cat;
	house.cat.config = &house.config;
	house.config.set.max_packet_size = 1 << 20;
	house.ss.params = params_table_new(NULL);
	house.db.name = "db";
	house.db.conf = &house.db_conf;
	house.user.name = "user";
	house.pool.key.db = &house.db;
	house.pool.key.user = &house.user;
	house.pool.limits = (struct pool_limits){ .size = 5,
		.lifetime = 3600 * USEC, .mode = POOL_TRANSACTION };
	house.role.name = "test";
	return house.loop == NULL || house.ss.params == NULL ? -1 : 0;
}

static inline int session_teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < house.clients; i++) {
		struct client *c = &house.c[i];

		stream_close(&c->stream);
		close(house.c_end[i]);
		params_unref(&c->params);
		carry_fini(&c->carry);
		relay_state_fini(&c->relay);
	}
	for (unsigned i = 0; i < house.servers; i++) {
		struct server *s = &house.s[i];

		stream_close(&s->stream);
		close(house.s_end[i]);
		params_unref(&s->params);
		carry_fini(&s->carry);
		carry_fini(&s->asked);
		track_fini(&s->track);
	}
	latencies_free(&house.pool.latencies);
	params_table_free(&house.ss.params);
	loop_free(&house.loop);
	return 0;
}

#define SESSION_TEST(t) \
	cmocka_unit_test_setup_teardown(t, session_setup, session_teardown)

#endif
