/* test_relay.c - a linked pair: what is passed, when it waits, when it parts.
 * SPDX-License-Identifier: ISC */
#include "relay_test.h"

/* --- tests --- */

static void test_a_transaction_passes_and_the_server_is_given_back(void **state)
{
	struct client *c = pair();

	(void)state;
	CLIENT_SAYS(QUERY);
	SERVER_HEARD(QUERY);
	SERVER_SAYS(DONE READY("I"));
	CLIENT_HEARD(DONE READY("I"));
	assert_int_equal(seen.released, 1);
	assert_null(c->pc.server);
	assert_false(c->stream.paused);
	assert_int_equal(house.pool.counted.now.xact_count, 1);
}

static void test_it_is_kept_while_anything_is_owed_or_open(void **state)
{
	(void)state;
	pair();
	CLIENT_SAYS(QUERY QUERY);
	SERVER_SAYS(DONE);
	SERVER_SAYS(READY("I"));	/* of the first of two */
	assert_int_equal(seen.released, 0);
	SERVER_SAYS(DONE READY("T"));
	assert_int_equal(seen.released, 0);
	CLIENT_SAYS(QUERY);
	SERVER_SAYS(DONE READY("I") "Z\0");	/* half a message more */
	assert_int_equal(seen.released, 0);
}

static void test_a_session_keeps_its_server(void **state)
{
	(void)state;
	house.s[0].ps.mode = POOL_SESSION;
	struct client *c = pair();

	c->pc.server->mode = POOL_SESSION;
	CLIENT_SAYS(QUERY);
	SERVER_SAYS(DONE READY("I"));
	assert_int_equal(seen.released, 0);
	assert_non_null(c->pc.server);
}

static void test_who_waits_is_resumed_with_what_it_has_sent(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);
	struct server *s = session_server(SERVER_IDLE);

	(void)state;
	CLIENT_SAYS(QUERY);
	assert_int_equal(seen.acquired, 1);
	assert_int_equal(c->carry.len, LEN(QUERY));
	SERVER_HEARD("");
	session_link(c, s);
	relay_resume(c);
	SERVER_HEARD(QUERY);
	assert_int_equal(c->carry.len, 0);
}

static void test_who_was_held_goes_on_when_all_is_answered(void **state)
{
	struct client *c = pair();

	(void)state;
	c->relay.hold = true;
	assert_int_equal(track_add(&house.s[0].track, 'Q', TRACK_FORWARD,
	    NULL), 0);
	CLIENT_SAYS(QUERY);
	SERVER_HEARD("");
	assert_true(c->stream.paused);
	SERVER_SAYS(DONE READY("T"));
	SERVER_HEARD(QUERY);
	assert_false(c->stream.paused);
}

static void test_what_is_suspended_is_not_worked_on(void **state)
{
	struct client *c = pair();

	(void)state;
	assert_int_equal(carry_keep(&c->carry, QUERY, LEN(QUERY)), 0);
	stream_suspend(&c->stream);
	relay_resume(c);
	SERVER_HEARD("");
	assert_int_equal(c->carry.len, LEN(QUERY));
	relay_unsuspend(c);
	relay_client_input(c);
	SERVER_HEARD(QUERY);
}

static void test_the_rest_of_a_cut_message_passes_unseen(void **state)
{
	struct client *c = pair();

	(void)state;
	CLIENT_SAYS("Q\0\0\0\015sel");
	SERVER_HEARD("Q\0\0\0\015sel");
	assert_int_equal(c->rest.bytes, 6);
	assert_true(rest_passes(&c->rest));
	CLIENT_SAYS("ect 1\0" "Q");
	SERVER_HEARD("ect 1\0");
	assert_int_equal(c->rest.bytes, 0);
	assert_int_equal(c->carry.len, 1);
	assert_int_equal(house.s[0].track.count, 1);
}

static void test_the_rest_of_what_was_dropped_is_dropped(void **state)
{
	struct client *c = pair();

	(void)state;
	c->rest = (struct message_rest){ .bytes = 6, .dropped = true };
	CLIENT_SAYS("ect 1\0" QUERY);
	SERVER_HEARD(QUERY);
	assert_int_equal(house.s[0].track.count, 1);
}

static void test_a_server_amid_a_message_is_not_given_back(void **state)
{
	struct server *s;

	(void)state;
	s = server_of(pair()->pc.server);
	CLIENT_SAYS(QUERY);
	SERVER_SAYS(DONE READY("I") "N\0\0\0\7x");	/* a notice, cut */
	assert_int_equal(seen.released, 0);
	assert_int_equal(s->rest.bytes, 2);
	SERVER_SAYS("y\0");
	assert_int_equal(seen.released, 1);
}

static void test_requests_wait_for_the_sets_that_come_first(void **state)
{
	struct client *c = pair();
	struct server *s = &house.s[0];

	(void)state;
	s->own_query = OWN_QUERY_PARAMS;
	assert_int_equal(track_add(&s->track, 'Q', TRACK_SKIP, NULL), 0);
	CLIENT_SAYS(QUERY);
	SERVER_HEARD("");
	assert_int_equal(c->carry.len, LEN(QUERY));
	SERVER_SAYS("C\0\0\0\010SET\0" READY("I"));
	CLIENT_HEARD("");
	SERVER_HEARD(QUERY);
	assert_int_equal(s->own_query, OWN_QUERY_NONE);
	assert_int_equal(c->carry.len, 0);
}

static void test_an_own_query_that_fails_closes_the_server(void **state)
{
	struct server *s = session_server(SERVER_TESTED);

	(void)state;
	s->own_query = OWN_QUERY_RESET;
	assert_int_equal(track_add(&s->track, 'Q', TRACK_SKIP, NULL), 0);
	SERVER_SAYS(READY("E"));
	assert_string_equal(seen.server_closed, "reset query failed");
	assert_int_equal(seen.own_queries, 0);
}

#define FATAL "E\0\0\0\026VFATAL\0" "C57P01\0" "Mx\0" "\0"

static void test_the_end_of_the_server_amid_the_sets_is_told(void **state)
{
	struct client *c = pair();
	struct server *s = &house.s[0];

	(void)state;
	s->own_query = OWN_QUERY_PARAMS;
	assert_int_equal(track_add(&s->track, 'Q', TRACK_SKIP, NULL), 0);
	CLIENT_SAYS(QUERY);
	SERVER_SAYS("E\0\0\0\026VFAT");
	assert_null(seen.server_closed);
	SERVER_SAYS("AL\0" "C57P01\0" "Mx\0" "\0");
	CLIENT_HEARD(FATAL);
	assert_string_equal(seen.server_closed, "server conn crashed?");
	assert_true(s->fatal_passed);
	assert_null(seen.client_closed);
	assert_int_equal(c->carry.len, LEN(QUERY));
}

static void test_the_end_of_a_server_amid_any_own_query_is_no_failure(
    void **state)
{
	static const enum own_query queries[] = { OWN_QUERY_RESET,
	    OWN_QUERY_CHECK,
	    OWN_QUERY_ROLLBACK };

	(void)state;
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
		struct server *s = session_server(SERVER_TESTED);

		s->own_query = queries[i];
		assert_int_equal(track_add(&s->track, 'Q', TRACK_SKIP, NULL), 0);
		session_say(&s->stream, house.s_end[i], FATAL, LEN(FATAL));
		relay_server_input(s);
		assert_string_equal(seen.server_closed,
		    "server conn crashed? (FATAL: x)");
		seen.server_closed = NULL;
	}
}

static void test_an_idle_server_that_talks_is_closed(void **state)
{
	(void)state;
	session_server(SERVER_IDLE);
	SERVER_SAYS("C\0\0\0\010SET\0");
	assert_string_equal(seen.server_closed, "idle server got dirty");
}

static void test_an_idle_server_that_is_told_to_go_says_why(void **state)
{
	(void)state;
	session_server(SERVER_IDLE);
	SERVER_SAYS(FATAL);
	assert_string_equal(seen.server_closed,
	    "idle server got dirty (FATAL: x)");
}

static void test_last_words_reach_the_client_before_the_end(void **state)
{
	(void)state;
	pair();
	session_say(&house.s[0].stream, house.s_end[0], DONE, LEN(DONE));
	assert_int_equal(shutdown(house.s_end[0], SHUT_RDWR), 0);
	assert_int_equal(track_add(&house.s[0].track, 'Q', TRACK_FORWARD,
	    NULL), 0);
	CLIENT_SAYS(QUERY);
	CLIENT_HEARD(DONE);
	assert_string_equal(seen.server_closed, "server connection closed");
}

static void test_a_header_that_cannot_be_closes_the_client(void **state)
{
	(void)state;
	pair();
	CLIENT_SAYS("Q\0\0\0\1");
	assert_non_null(seen.client_closed);
	SERVER_HEARD("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_transaction_passes_and_the_server_is_given_back),
		TEST(test_it_is_kept_while_anything_is_owed_or_open),
		TEST(test_a_session_keeps_its_server),
		TEST(test_who_waits_is_resumed_with_what_it_has_sent),
		TEST(test_who_was_held_goes_on_when_all_is_answered),
		TEST(test_what_is_suspended_is_not_worked_on),
		TEST(test_the_rest_of_a_cut_message_passes_unseen),
		TEST(test_the_rest_of_what_was_dropped_is_dropped),
		TEST(test_a_server_amid_a_message_is_not_given_back),
		TEST(test_requests_wait_for_the_sets_that_come_first),
		TEST(test_an_own_query_that_fails_closes_the_server),
		TEST(test_the_end_of_the_server_amid_the_sets_is_told),
		TEST(test_the_end_of_a_server_amid_any_own_query_is_no_failure),
		TEST(test_an_idle_server_that_talks_is_closed),
		TEST(test_an_idle_server_that_is_told_to_go_says_why),
		TEST(test_last_words_reach_the_client_before_the_end),
		TEST(test_a_header_that_cannot_be_closes_the_client),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
