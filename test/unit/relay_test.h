/* relay_test.h - for tests of the relay: a linked pair with real sockets and
 * real names of statements, whose neighbours are faked and take notes.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_TEST_H
#define RELAY_TEST_H

#include "session_test.h"

#include "base/mem.h"
#include "broker/broker.h"
#include "proto/baggage.h"
#include "relay/relay.h"
#include "relay/relay_server.h"
#include "upstream/server_launch.h"

#define QUERY "Q\0\0\0\015select 1\0"
#define DONE "C\0\0\0\015SELECT 1\0"
#define READY(status) "Z\0\0\0\5" status
#define LEN(text) (sizeof(text) - 1)

/* --- the neighbours, who take notes --- */

static struct {
	unsigned released, acquired, own_queries;
	bool gives;		/* broker_acquire() finds a server */
	const char *client_closed, *server_closed;
	size_t clean_bytes;
} seen;

bool broker_acquire(struct client *c, const struct burst *ahead)
{
	(void)ahead;
	seen.acquired++;
	if (seen.gives)
		session_link(c, &house.s[0]);
	else
		pool_client_set(&c->pc, CLIENT_WAITING);
	return seen.gives;
}

void broker_release(struct server *s)
{
	seen.released++;
	pool_unlink(s->ps.client);
	pool_server_set(&s->ps, SERVER_IDLE);
}

bool broker_same_params(struct client *c, struct server *s)
{
	(void)c;
	(void)s;
	return true;
}

bool broker_sets_refused(struct server *s, struct close_cause why)
{
	server_close_cause(s, why);
	return false;
}

int broker_adopt_params(struct client *c, const struct server *s)
{
	(void)c;
	(void)s;
	return 0;
}

void server_set_own_query(struct server *s, enum own_query query)
{
	s->own_query = query;
}

void broker_free(struct server *s)
{
	s->own_query = OWN_QUERY_NONE;
	seen.own_queries++;
}

bool broker_clean_goes_on(struct server *s)
{
	(void)s;
	return false;
}

void broker_clean_row(struct server *s, const void *row, size_t size)
{
	(void)s;
	(void)row;
	seen.clean_bytes += size;
}

void client_fail_cause(struct client *c, struct close_cause why)
{
	seen.client_closed = why.text;
	stream_close(&c->stream);
	if (c->pc.server != NULL)
		pool_unlink(&c->pc);
}

void client_close(struct client *c, enum close_reason reason)
{
	client_fail_cause(c, close_cause(reason));
}

void client_fail(struct client *c, enum close_reason reason)
{
	client_close(c, reason);
}

void server_close(struct server *s, enum close_reason reason)
{
	seen.server_closed = close_reason_text(reason);
	stream_close(&s->stream);
}

void server_close_cause(struct server *s, struct close_cause why)
{
	static char text[80];

	snprintf(text, sizeof text, "%s", why.text);
	seen.server_closed = text;
	stream_close(&s->stream);
}

int server_send_query(struct server *s, const char *sql,
    enum own_query query)
{
	(void)sql;
	s->own_query = query;
	return 0;
}

void server_fail(struct server *s, enum close_reason reason)
{
	server_close(s, reason);
}

struct server *server_launch_listener(struct sessions *ss, struct pool *p)
{
	(void)ss;
	(void)p;
	return NULL;
}

bool server_launch_room(struct pool *p, const struct pool_client *dedicated,
    bool *reserve)
{
	(void)p;
	(void)dedicated;
	*reserve = false;
	return true;
}

/* --- pairs --- */

static inline int relay_setup(void **state)
{
	memset(&seen, 0, sizeof seen);
	if (session_setup(state) < 0)
		return -1;
	house.ss.prepared = prepared_table_new();
	house.ss.baggage = baggage_table_new();
	return house.ss.prepared == NULL || house.ss.baggage == NULL ? -1 : 0;
}

/* Nothing of the table may be left: each statement has been given back. */
static inline int relay_teardown(void **state)
{
	for (unsigned i = 0; i < house.servers; i++) {
		track_fini(&house.s[i].track);
		prepared_uses_clear(&house.s[i].prepared);
		dialect_fini(&house.s[i].dialect);
	}
	for (unsigned i = 0; i < house.clients; i++)
		prepared_name_clear(&house.c[i].statements);
	prepared_table_free(&house.ss.prepared);
	baggage_table_free(&house.ss.baggage);
	return session_teardown(state);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, relay_setup, relay_teardown)

static inline struct client *pair(void)
{
	static const struct track_ops ops = { relay_commit, relay_rollback };
	struct client *c = session_client(CLIENT_ACTIVE);
	struct server *s = session_server(SERVER_IDLE);

	s->track.ops = &ops;
	session_link(c, s);
	return c;
}

static inline void client_says(const char *p, size_t n)
{
	session_say(&house.c[0].stream, house.c_end[0], p, n);
	relay_client_input(&house.c[0]);
}

static inline void server_says(const char *p, size_t n)
{
	session_say(&house.s[0].stream, house.s_end[0], p, n);
	relay_server_input(&house.s[0]);
}

#define CLIENT_SAYS(text) client_says(text, LEN(text))
#define SERVER_SAYS(text) server_says(text, LEN(text))
#define CLIENT_HEARD(text) session_heard(house.c_end[0], text, LEN(text))
#define SERVER_HEARD(text) session_heard(house.s_end[0], text, LEN(text))

/* --- the same, as a script --- */

static inline void client_sends(const char *script)
{
	char bytes[SCRIPT_BYTES];

	client_says(bytes, script_write(script, bytes));
}

static inline void server_sends(const char *script)
{
	char bytes[SCRIPT_BYTES];

	server_says(bytes, script_write(script, bytes));
}

#define CLIENT_GETS(script) \
	assert_string_equal(script_heard(house.c_end[0]), script)
#define SERVER_GETS(script) \
	assert_string_equal(script_heard(house.s_end[0]), script)

/*
 * Run act with each of its allocations failing, one after the other: the
 * connection that cannot go on is closed for want of memory, and nothing of it
 * is left behind. stage has the pair made ready for act.
 */
static inline void relay_without_memory(void (*stage)(void), void (*act)(void))
{
	unsigned long n = 0, made;

	do {
		stage();
		mem_fail_at(++n);
		act();
		made = mem_fail_at(0);
		if (made >= n)
			assert_string_equal(seen.client_closed != NULL ?
			    seen.client_closed : seen.server_closed,
			    "out of memory");
		else
			assert_null(seen.client_closed);
		assert_int_equal(relay_teardown(NULL), 0);
		assert_int_equal(relay_setup(NULL), 0);
	} while (made >= n);
	assert_true(n > 1);
}

#endif
