/* test_own_queries.c - what follows each query of our own.
 * SPDX-License-Identifier: ISC */
#include "relay/own_queries.h"

#include "relay_test.h"

/* The rows of all queries; the row of none is used when nothing runs. */
#define EACH_QUERY(q) \
	enum own_query q = OWN_QUERY_RESET; q < OWN_QUERIES; q++

static struct server *running(enum own_query query)
{
	struct server *const s = session_server(SERVER_TESTED);

	s->own_query = query;
	assert_int_equal(track_add(&s->track, 'Q', TRACK_SKIP, NULL), 0);
	return s;
}

static void test_each_query_says_what_follows_and_why_its_server_is_closed(
    void **state)
{
	struct server *const s = session_server(SERVER_TESTED);

	(void)state;
	for (EACH_QUERY(q)) {
		s->own_query = q;
		assert_non_null(own_query_row(s)->done);
		assert_int_not_equal(own_query_row(s)->failure, CLOSE_NONE);
		assert_int_not_equal(own_query_row(s)->late, CLOSE_NONE);
	}
	s->own_query = OWN_QUERY_NONE;
	assert_null(own_query_row(s)->row);
}

static void test_only_what_runs_for_a_client_may_end_in_a_transaction(
    void **state)
{
	static const enum own_query alone[] = { OWN_QUERY_RESET,
	    OWN_QUERY_ROLLBACK, OWN_QUERY_CONNECT };

	(void)state;
	for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
		struct server *const s = running(alone[i]);

		session_say(&s->stream, house.s_end[i], READY("T"),
		    LEN(READY("T")));
		relay_server_input(s);
		assert_string_equal(seen.server_closed,
		    close_reason_text(own_query_row(s)->failure));
		seen.server_closed = NULL;
	}
	struct server *const s = running(OWN_QUERY_PARAMS);

	assert_true(own_query_row(s)->in_transaction);
}

static void test_a_query_that_is_done_frees_its_server(void **state)
{
	struct server *const s = running(OWN_QUERY_ROLLBACK);

	(void)state;
	session_say(&s->stream, house.s_end[0], READY("I"), LEN(READY("I")));
	relay_server_input(s);
	assert_int_equal(seen.own_queries, 1);
	assert_int_equal(s->own_query, OWN_QUERY_NONE);
}

static void test_a_check_that_fails_has_the_next_server_checked(void **state)
{
	struct server *const s = running(OWN_QUERY_CHECK);

	(void)state;
	s->ps.lent = true;
	own_query_failed(s, "ERROR: no");
	assert_string_equal(seen.server_closed, "test query failed");
	assert_true(house.pool.check_failed);
}

static void test_a_check_that_succeeds_says_so(void **state)
{
	struct server *const s = running(OWN_QUERY_CHECK);

	(void)state;
	house.pool.check_failed = true;
	session_say(&s->stream, house.s_end[0], READY("I"), LEN(READY("I")));
	relay_server_input(s);
	assert_false(house.pool.check_failed);
}

static void test_a_reset_may_have_left_anything_in_a_pool_that_keeps(
    void **state)
{
	struct server *const s = running(OWN_QUERY_RESET);

	(void)state;
	house.pool.limits.state = STATE_CLEAN;
	session_say(&s->stream, house.s_end[0], READY("I"), LEN(READY("I")));
	relay_server_input(s);
	assert_true(s->ps.stained);
}

static void test_a_late_check_closes_the_silent_servers_beside_it(void **state)
{
	struct server *const s = running(OWN_QUERY_CHECK);
	struct server *const idle = session_server(SERVER_IDLE);

	(void)state;
	idle->ps.used = 1;
	own_query_late(s, 2);
	assert_string_equal(seen.server_closed, "test query timeout");
	assert_false(server_is_open(idle));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_query_says_what_follows_and_why_its_server_is_closed),
		TEST(test_only_what_runs_for_a_client_may_end_in_a_transaction),
		TEST(test_a_query_that_is_done_frees_its_server),
		TEST(test_a_check_that_fails_has_the_next_server_checked),
		TEST(test_a_check_that_succeeds_says_so),
		TEST(test_a_reset_may_have_left_anything_in_a_pool_that_keeps),
		TEST(test_a_late_check_closes_the_silent_servers_beside_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
