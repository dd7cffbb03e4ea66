/* test_snapshot_load.c - sessions made again from what was saved of them.
 * SPDX-License-Identifier: ISC */
#include "transfer/snapshot.h"

#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "server_test.h"
#include "session/client.h"
#include "session/client_role.h"

/* --- what is faked --- */

static void drop_op(void *op, void *arg)
{
	(void)arg;
	prepared_op_free(op);
}

static const struct track_ops track_ops = {
	.commit = drop_op,
	.rollback = drop_op,
};

static const struct server_phase_ops phases[SERVER_PHASES] = {
	[SERVER_PHASE_NEW] = { .name = "new" },
	[SERVER_PHASE_POOLED] = { .name = "pooled",
		.can_terminate = can_terminate },
};

static const struct server_ops ops = {
	.phases = phases,
	.track = &track_ops,
	.ready = on_ready,
	.introduce = on_introduce,
	.closed = on_closed,
};

static void on_client_input(struct client *c)
{
	(void)c;
	fail_msg("a client is read that stands still");
}

static const struct client_role relay = { .name = "relay",
	.input = on_client_input };

/* --- the stage --- */

static int set_up(void **state)
{
	(void)state;
	stage_open(&ops, "connect_query='SELECT 1'");
	st.ss.prepared = prepared_table_new();
	assert_non_null(st.ss.prepared);
	st.can_terminate = true;
	st.ss.client_ops.relay = &relay;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stage_turns(2);
	prepared_table_free(&st.ss.prepared);
	slow_fini(&st.ss.slow);
	stage_close();
	return 0;
}

static void set_param(struct server *s, const char *name, const char *value)
{
	const int i = params_find(st.ss.params, name);

	assert_true(i >= 0);
	assert_int_equal(params_set(&s->params, i, value), 0);
}

static void owe(struct server *s, char type, enum track_how how, void *op)
{
	const struct track_req r = { .type = type, .how = (uint8_t)how,
		.tag = 7, .op = op };

	assert_int_equal(track_put(&s->track, &r), 0);
}

/* In the middle of as much as there can be. */
static struct server *busy_server(void)
{
	struct server *s = server_adopt(&st.ss, st.pool, stage_socket());
	struct prepared *stmt = prepared_get(st.ss.prepared, prepared_plain("SELECT 1\0\0\0",
	    11));

	assert_non_null(s);
	assert_non_null(stmt);
	s->ps.born = time_now() - 100 * USEC;
	s->superuser = true;
	s->schema_changed = SCHEMA_CHANGED;
	s->trace = (struct trace){ .sets = 3, .local = 2, .failed = true,
		.waits = true, .draws = true };
	s->keep.resets = 5;
	s->keep.lending = LENDING_TRIED;
	s->keep.pins_first = s->keep.drawn = true;
	s->standby = 2;	/* FACT_YES */
	s->host = (struct host){ .kind = HOST_ADDRESS, .text = "127.0.0.1" };
	s->addr = (struct net_addr){ .family = NET_IPV4, .port = 5432,
		.ip = { 127, 0, 0, 1 } };
	s->host.addr = s->addr;
	memcpy(s->key, "12345678", 8);
	s->key_len = 8;
	set_param(s, "TimeZone", "Asia/Tokyo");
	s->origin.set = params_ref(s->params);
	assert_int_equal(prepared_uses_add(&s->prepared, stmt), 0);
	assert_int_equal(carry_keep(&s->carry, (const void *)"D\0\0", 3), 0);
	assert_int_equal(stream_queue(&s->stream, "queued", 6),
	    STREAM_QUEUED);
	owe(s, 'P', TRACK_FORWARD, prepared_op_new(1, stmt, "s1"));
	owe(s, 'S', TRACK_FORWARD, NULL);
	s->track.status = 'T';
	stream_suspend(&s->stream);
	prepared_unref(stmt);
	return s;
}

/* As another process would: all that it knows of s are these bytes. */
static struct server *make_again(const struct writer *w, int fd,
    struct err *e)
{
	const struct snapshot h = { .fd = fd, .user = "ann",
		.database = "shop", .state = w->at, .len = w->len };

	*e = (struct err){ .text = "" };
	return snapshot_read_server(&st.ss, &h, e);
}

static void save(const struct server *s, struct writer *w)
{
	writer_init(w, 1 << 16);
	snapshot_write_server(s, w);
	assert_false(w->failed);
}

static void expect_nothing_was_said(int peer)
{
	char byte;

	assert_int_equal(recv(peer, &byte, 1, 0), 0);
	close(peer);
	st.peer = -1;
}

/* --- tests --- */

static void test_made_again_it_is_saved_as_the_same(void **state)
{
	struct server *s = busy_server(), *again;
	const int first = st.peer;
	struct writer one, two;
	struct err e;

	(void)state;
	save(s, &one);
	again = make_again(&one, stage_socket(), &e);
	assert_string_equal(e.text, "");
	assert_non_null(again);
	save(again, &two);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.at, two.at, one.len);
	assert_int_equal(again->phase, SERVER_PHASE_POOLED);
	assert_null(again->attempt);
	assert_true(stream_is_suspended(&again->stream));
	assert_true(again->superuser);
	assert_true(again->schema_changed);
	assert_int_equal(again->standby, 2);
	assert_true(memcmp(&again->trace, &s->trace, sizeof s->trace) == 0);
	assert_int_equal(again->keep.resets, 5);
	assert_int_equal(again->keep.lending, LENDING_TRIED);
	assert_true(again->keep.pins_first && again->keep.drawn);
	assert_false(again->keep.settled || again->keep.strange);
	assert_int_equal(stream_queued(&again->stream), 6);
	assert_int_equal(again->track.count, 2);
	assert_false(again->ps.close_needed);
	writer_fini(&one);
	writer_fini(&two);
	s->stream.broken = again->stream.broken = true;
	server_close(s, CLOSE_SHUTDOWN);
	server_close(again, CLOSE_SHUTDOWN);
	close(first);
}

static void test_what_a_server_has_said_is_read_although_it_says_no_more(
    void **state)
{
	struct server *s = busy_server(), *again;
	const int first = st.peer;
	struct writer w;
	struct err e;

	(void)state;
	assert_int_equal(carry_keep(&s->carry, "Z\0\0\0\5I", 6), 0);
	save(s, &w);
	again = make_again(&w, stage_socket(), &e);
	assert_non_null(again);
	assert_true(stream_is_ready(&again->stream));
	writer_fini(&w);
	s->stream.broken = again->stream.broken = true;
	server_close(s, CLOSE_SHUTDOWN);
	server_close(again, CLOSE_SHUTDOWN);
	close(first);
}

static void test_a_request_that_was_known_by_its_text_marks(void **state)
{
	struct server *s = busy_server(), *again;
	const int first = st.peer;
	struct writer w;
	struct err e;

	(void)state;
	s->trace = (struct trace){ .lone = true };
	save(s, &w);
	again = make_again(&w, stage_socket(), &e);
	assert_non_null(again);
	assert_true(again->trace.marked);
	assert_false(again->trace.lone);
	writer_fini(&w);
	s->stream.broken = again->stream.broken = true;
	server_close(s, CLOSE_SHUTDOWN);
	server_close(again, CLOSE_SHUTDOWN);
	close(first);
}

static void test_what_is_half_saved_cannot_go(void **state)
{
	struct server *s = server_adopt(&st.ss, st.pool, stage_socket());

	(void)state;
	assert_true(snapshot_takes_server(s));
	assert_true(snapshot_is_plain_server(s));
	assert_int_equal(carry_keep(&s->carry, (const void *)"D", 1), 0);
	assert_true(snapshot_takes_server(s));
	assert_false(snapshot_is_plain_server(s));
	carry_fini(&s->carry);
	/* what a cancel on its way will hit is nobody else's: see CLOSE */
	s->ps.cancels = 1;
	assert_true(snapshot_takes_server(s));
	assert_false(snapshot_is_plain_server(s));
	s->ps.cancels = 0;
	s->stream.broken = true;
	assert_false(snapshot_takes_server(s));
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_server_that_logs_in_does_not_go(void **state)
{
	struct server *s = server_new(&st.ss, st.pool, SERVER_LOGIN);

	(void)state;
	assert_false(snapshot_takes_server(s));
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_other_place_is_of_no_use_for_long(void **state)
{
	struct server *s = busy_server(), *again;
	const int first = st.peer;
	struct config_db *db = (struct config_db *)st.pool->key.db->conf;
	const int port = db->port;
	struct writer w;
	struct err e;

	(void)state;
	save(s, &w);
	db->port = port + 1;
	again = make_again(&w, stage_socket(), &e);
	db->port = port;
	assert_non_null(again);
	assert_true(again->ps.close_needed);
	writer_fini(&w);
	server_close(s, CLOSE_SHUTDOWN);
	server_close(again, CLOSE_SHUTDOWN);
	close(first);
}

static void test_other_version_is_refused(void **state)
{
	struct server *s = busy_server();
	const int first = st.peer;
	struct writer w;
	struct err e;

	(void)state;
	save(s, &w);
	w.at[0]++;
	assert_null(make_again(&w, stage_socket(), &e));
	assert_string_not_equal(e.text, "");
	expect_nothing_was_said(st.peer);
	writer_fini(&w);
	server_close(s, CLOSE_SHUTDOWN);
	close(first);
}

static void test_unknown_database_is_no_error(void **state)
{
	struct server *s = busy_server();
	const int first = st.peer;
	struct writer w;
	struct err e = { .text = "?" };

	(void)state;
	save(s, &w);
	const struct snapshot h = { .fd = stage_socket(), .user = "ann",
		.database = "gone", .state = w.at, .len = w.len };

	assert_null(snapshot_read_server(&st.ss, &h, &e));
	assert_string_equal(e.text, "");
	expect_nothing_was_said(st.peer);
	writer_fini(&w);
	server_close(s, CLOSE_SHUTDOWN);
	close(first);
}

/* The other process goes on with it: PostgreSQL must not hear a word. */
static void test_without_memory_nothing_is_said(void **state)
{
	struct server *s = busy_server(), *again = NULL;
	const int first = st.peer;
	struct writer w;
	struct err e;
	unsigned long n;

	(void)state;
	save(s, &w);
	for (n = 1; again == NULL; n++) {
		const int fd = stage_socket();

		assert_true(n < 100);
		mem_fail_at(n);
		again = make_again(&w, fd, &e);
		mem_fail_at(0);
		if (again != NULL)
			break;
		assert_string_not_equal(e.text, "");
		expect_nothing_was_said(st.peer);
	}
	assert_true(n > 5);
	again->stream.broken = true;
	server_close(again, CLOSE_SHUTDOWN);
	writer_fini(&w);
	server_close(s, CLOSE_SHUTDOWN);
	close(first);
}

/* In the middle of as much as there can be. */
static struct client *busy_client(void)
{
	const struct net_addr peer = { .family = NET_UNIX, .port = 6432 };
	struct client *c = client_open(&st.ss, stage_socket(), &peer);
	struct prepared *stmt = prepared_get(st.ss.prepared, prepared_plain("SELECT 1\0\0\0",
	    11));

	assert_non_null(c);
	assert_non_null(stmt);
	client_become(c, &relay);
	stream_suspend(&c->stream);
	client_enter(c, st.pool->key.db, st.pool->key.user);
	c->pc.pool = st.pool;
	pool_client_set(&c->pc, CLIENT_WAITING);
	c->pc.wait_since = c->query_start = time_now() - 3 * USEC;
	c->welcomed = c->notified = c->relay.hold = true;
	c->rest.bytes = 9;
	c->relay.dealloc.name = mem_strdup("s1");
	assert_int_equal(slow_set_text(c, "select 1"), 0);
	client_set_key(c, (const uint8_t *)"12345678", 8);
	assert_int_equal(prepared_name_add(&c->statements, "s1", stmt), 0);
	assert_int_equal(carry_keep(&c->carry, (const void *)"Q\0", 2), 0);
	assert_int_equal(stream_queue(&c->stream, "queued", 6),
	    STREAM_QUEUED);
	prepared_unref(stmt);
	return c;
}

static struct client *client_again(const struct writer *w, struct err *e)
{
	const struct snapshot h = { .fd = stage_socket(), .user = "ann",
		.database = "shop", .state = w->at, .len = w->len };

	*e = (struct err){ .text = "" };
	return snapshot_read_client(&st.ss, &h, e);
}

/* It is here no more, and the other process has it: not a word. */
static void let_go(struct client *c, int peer)
{
	c->stream.broken = true;
	client_close(c, CLOSE_SHUTDOWN);
	expect_nothing_was_said(peer);
}

static void save_and_let_go(struct client *c, struct writer *w)
{
	writer_init(w, 1 << 16);
	snapshot_write_client(c, w);
	assert_false(w->failed);
	let_go(c, st.peer);
}

static void test_client_made_again_is_saved_as_the_same(void **state)
{
	struct client *c = busy_client();
	struct writer one, two;
	struct err e;

	(void)state;
	assert_true(snapshot_takes_client(c));
	assert_false(snapshot_is_plain_client(c));
	save_and_let_go(c, &one);
	c = client_again(&one, &e);
	assert_string_equal(e.text, "");
	assert_non_null(c);
	assert_true(stream_is_suspended(&c->stream));
	assert_ptr_equal(c->role, &relay);
	assert_int_equal(c->pc.state, CLIENT_WAITING);
	assert_ptr_equal(client_find(&st.ss, c->key, 8), c);
	save_and_let_go(c, &two);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.at, two.at, one.len);
	writer_fini(&one);
	writer_fini(&two);
}

static void test_client_without_memory_hears_nothing(void **state)
{
	struct client *again = NULL;
	struct writer w;
	struct err e;
	unsigned long n;

	(void)state;
	save_and_let_go(busy_client(), &w);
	for (n = 1; again == NULL; n++) {
		assert_true(n < 100);
		mem_fail_at(n);
		again = client_again(&w, &e);
		mem_fail_at(0);
		if (again == NULL) {
			assert_string_not_equal(e.text, "");
			expect_nothing_was_said(st.peer);
		}
	}
	assert_true(n > 5);
	let_go(again, st.peer);
	writer_fini(&w);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_made_again_it_is_saved_as_the_same),
		TEST(test_what_a_server_has_said_is_read_although_it_says_no_more),
		TEST(test_a_request_that_was_known_by_its_text_marks),
		TEST(test_what_is_half_saved_cannot_go),
		TEST(test_server_that_logs_in_does_not_go),
		TEST(test_other_place_is_of_no_use_for_long),
		TEST(test_other_version_is_refused),
		TEST(test_unknown_database_is_no_error),
		TEST(test_without_memory_nothing_is_said),
		TEST(test_client_made_again_is_saved_as_the_same),
		TEST(test_client_without_memory_hears_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
