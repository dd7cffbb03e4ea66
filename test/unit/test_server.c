/* test_server.c - phases and their setter, closing; a server's steps are faked.
 * SPDX-License-Identifier: ISC */
#include "session/server.h"

#include "server_test.h"

/* --- what is faked --- */

static void begin_connect(struct server *s)
{
	(void)s;
	tell("begin connect");
}

static void on_input(struct server *s)
{
	char bytes[64];
	const ssize_t n = stream_read(&s->stream, bytes, sizeof bytes);

	text_addf(&st.told, "input %.*s;", n > 0 ? (int)n : 0, bytes);
}

static const struct server_phase_ops phases[SERVER_PHASES] = {
	[SERVER_PHASE_NEW] = { .name = "new" },
	[SERVER_PHASE_CONNECT] = { .name = "connect", .timed = true,
		.begin = begin_connect },
	[SERVER_PHASE_TLS] = { .name = "tls", .timed = true,
		.input = on_input },
	[SERVER_PHASE_AUTH] = { .name = "auth", .timed = true,
		.input = on_input },
	[SERVER_PHASE_POOLED] = { .name = "pooled", .input = on_input,
		.can_terminate = can_terminate },
	[SERVER_PHASE_CANCEL] = { .name = "cancel", .timed = true,
		.input = on_input },
};

static const struct track_ops track_ops;

static const struct server_ops ops = {
	.phases = phases,
	.track = &track_ops,
	.ready = on_ready,
	.introduce = on_introduce,
	.closed = on_closed,
};

static int set_up(void **state)
{
	(void)state;
	stage_open(&ops, "");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stage_close();
	return 0;
}

static struct server *launch(enum server_state state)
{
	struct server *s = server_new(&st.ss, st.pool, state);

	assert_non_null(s);
	return s;
}

static struct server *open_in(enum server_phase phase)
{
	struct server *s = launch(SERVER_LOGIN);

	server_set_phase(s, phase);
	assert_int_equal(server_open(s, stage_socket()), 0);
	(void)stage_moved();
	return s;
}

/* --- tests --- */

static void test_setter_moves_and_logs(void **state)
{
	struct server *s = launch(SERVER_LOGIN);

	(void)state;
	assert_int_equal(s->phase, SERVER_PHASE_NEW);
	server_begin(s, SERVER_PHASE_CONNECT);
	assert_string_equal(stage_told(), "begin connect;");
	server_set_phase(s, SERVER_PHASE_TLS);
	server_set_phase(s, SERVER_PHASE_POOLED);
	assert_int_equal(s->phase, SERVER_PHASE_POOLED);
	assert_string_equal(stage_moved(),
	    "new -> connect;connect -> tls;tls -> pooled;");
	server_close(s, CLOSE_SHUTDOWN);
	assert_string_equal(stage_told(), "closed: shutdown;");
}

static void test_time_out_of_a_login_runs_from_launch_to_pool(void **state)
{
	(void)state;
	time_set_fake(1000 * USEC);
	struct server *s = launch(SERVER_LOGIN);

	assert_false(timeout_running(&s->timer));
	server_begin(s, SERVER_PHASE_CONNECT);
	assert_ptr_equal(st.ss.connect_list.head, &s->timer);
	time_set_fake(1007 * USEC);
	server_set_phase(s, SERVER_PHASE_TLS);
	/* an older protocol is tried */
	server_begin(s, SERVER_PHASE_CONNECT);
	assert_int_equal(s->timer.since, 1000 * USEC);
	server_set_phase(s, SERVER_PHASE_POOLED);
	assert_false(timeout_running(&s->timer));
	server_close(s, CLOSE_SHUTDOWN);
	time_set_fake(-1);
}

static void test_connections_to_peers_have_their_own_time_out(void **state)
{
	struct server *s = launch(SERVER_LOGIN);

	(void)state;
	st.pool->peer_id = 7;
	server_begin(s, SERVER_PHASE_CONNECT);
	assert_ptr_equal(st.ss.peer_list.head, &s->timer);
	assert_true(server_is_canceler(s));
	server_close(s, CLOSE_SHUTDOWN);
	assert_null(st.ss.peer_list.head);
	st.pool->peer_id = 0;
}

static void test_bytes_go_to_the_phase(void **state)
{
	struct server *s = open_in(SERVER_PHASE_AUTH);

	(void)state;
	assert_int_equal(write(st.peer, "hello", 5), 5);
	stage_turns(2);
	assert_string_equal(stage_told(), "input hello;");
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_failure_is_told_and_gone(void **state)
{
	struct server *s = open_in(SERVER_PHASE_AUTH);
	const struct err other = { "28P01", "for the client" };

	(void)state;
	s->attempt->refused = true;
	server_close_for(s, &other,
	    close_cause(CLOSE_FAILED_TO_ANSWER_AUTHREQ));
	assert_string_equal(stage_told(),
	    "failed 28P01 for the client (refused);"
	    "closed: failed to answer authreq;");
	assert_null(s->failure);
	assert_null(s->attempt);
	/* once is enough */
	server_fail(s, CLOSE_SERVER_CRASHED);
	assert_null(s->failure);
	assert_string_equal(stage_told(), "");
}

static void test_no_failure_blames_no_host(void **state)
{
	struct server *s = open_in(SERVER_PHASE_AUTH);

	(void)state;
	s->host.kind = HOST_ADDRESS;
	server_close(s, CLOSE_PAUSE_MODE);
	assert_string_equal(stage_told(), "closed: pause mode;");
	assert_null(st.pool->failures);
}

static void test_failed_login_blames_its_host(void **state)
{
	struct server *s = open_in(SERVER_PHASE_AUTH);

	(void)state;
	s->host.kind = HOST_ADDRESS;
	server_fail(s, CLOSE_SERVER_CRASHED);
	assert_false(hosts_left(st.pool, st.ss.catalog, time_now()));
}

static void test_host_is_not_blamed_for_what_a_replication_client_wants(
    void **state)
{
	struct server *s = launch(SERVER_DEDICATED_LOGIN);

	(void)state;
	server_set_phase(s, SERVER_PHASE_AUTH);
	assert_true(server_is_introduced(s));
	s->host.kind = HOST_ADDRESS;
	server_fail(s, CLOSE_LOGIN_FAILED);
	assert_null(st.pool->failures);
}

static void expect_last_words(enum server_phase phase, bool can,
    const char *words)
{
	struct server *s = open_in(phase);
	char bytes[16];

	st.can_terminate = can;
	server_close(s, CLOSE_SHUTDOWN);
	assert_int_equal(recv(st.peer, bytes, sizeof bytes, 0),
	    (ssize_t)strlen(words) * 5);
	if (words[0] != '\0')
		assert_memory_equal(bytes, "X\0\0\0\4", 5);
	close(st.peer);
	st.peer = -1;
}

static void test_terminate_where_it_would_be_taken_for_a_message(void **state)
{
	(void)state;
	expect_last_words(SERVER_PHASE_POOLED, true, "X");
	expect_last_words(SERVER_PHASE_POOLED, false, "");
	expect_last_words(SERVER_PHASE_AUTH, true, "");
	expect_last_words(SERVER_PHASE_CANCEL, true, "");
}

static void test_adopted_has_no_attempt(void **state)
{
	struct server *s = server_adopt(&st.ss, st.pool, stage_socket());

	(void)state;
	assert_non_null(s);
	assert_null(s->attempt);
	assert_int_equal(s->ps.state, SERVER_IDLE);
	assert_string_equal(stage_moved(), "new -> pooled;");
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_own_query_is_timed_and_owed(void **state)
{
	struct server *s = open_in(SERVER_PHASE_POOLED);
	char bytes[32];

	(void)state;
	assert_int_equal(server_send_query(s, "SELECT 1", OWN_QUERY_CHECK), 0);
	assert_int_equal(s->own_query, OWN_QUERY_CHECK);
	assert_ptr_equal(st.ss.own_query_list.head, &s->timer);
	assert_false(track_is_empty(&s->track));
	assert_int_equal(recv(st.peer, bytes, sizeof bytes, 0), 14);
	assert_memory_equal(bytes, "Q\0\0\0\15SELECT 1", 14);
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_new_without_memory(void **state)
{
	struct server *s = NULL;
	unsigned long n;

	(void)state;
	for (n = 1; s == NULL; n++) {
		assert_true(n < 10);
		mem_fail_at(n);
		s = server_new(&st.ss, st.pool, SERVER_LOGIN);
	}
	mem_fail_at(0);
	assert_true(n > 2);
	assert_int_equal(st.ss.servers, 1);
	server_close(s, CLOSE_SHUTDOWN);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_setter_moves_and_logs),
		TEST(test_time_out_of_a_login_runs_from_launch_to_pool),
		TEST(test_connections_to_peers_have_their_own_time_out),
		TEST(test_bytes_go_to_the_phase),
		TEST(test_failure_is_told_and_gone),
		TEST(test_no_failure_blames_no_host),
		TEST(test_failed_login_blames_its_host),
		TEST(test_host_is_not_blamed_for_what_a_replication_client_wants),
		TEST(test_terminate_where_it_would_be_taken_for_a_message),
		TEST(test_adopted_has_no_attempt),
		TEST(test_own_query_is_timed_and_owed),
		TEST(test_new_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
