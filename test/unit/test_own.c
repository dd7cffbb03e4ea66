/* test_own.c - which server has the unnamed statement of a client.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/own.h"
#include "proto/track.h"

#define OTHER 77	/* of another client */
#define FRESH 99

static struct {
	struct own own;
	struct track track;
	uint64_t server;
} it;

static const struct track_ops ops = { NULL, NULL };

/* The client has statement 1, and its server one of another client, or it. */
static int start(uint64_t server)
{
	memset(&it, 0, sizeof it);
	track_init(&it.track, &ops, NULL);
	it.own.serial = 1;
	it.server = server;
	it.track.status = 'I';
	return 0;
}

static int away(void **state)
{
	(void)state;
	return start(OTHER);
}

static int there(void **state)
{
	(void)state;
	return start(1);
}

static int finish(void **state)
{
	(void)state;
	own_fini(&it.own);
	track_fini(&it.track);
	return 0;
}

static void send(char type)
{
	assert_int_equal(track_add(&it.track, type, TRACK_FORWARD, NULL), 0);
}

/* A Parse; or what leaves none, where serial is OWN_NONE. */
static void change(uint64_t serial)
{
	const unsigned place = it.track.count;

	send(serial == OWN_NONE ? FE_CLOSE : FE_PARSE);
	track_mark(&it.track, OWN_CHANGE);
	own_change(&it.own, &it.server, serial,
	    own_is_sure(&it.track, place));
}

static void send_again(void)
{
	assert_int_equal(own_reach(&it.own, &it.server, &it.track), OWN_AWAY);
	send(FE_PARSE);
	track_mark(&it.track, OWN_AGAIN);
	own_again(&it.own, &it.server);
}

static void lose(void)
{
	(void)own_failed(&it.own, &it.server, &it.track, FRESH);
	(void)track_reply(&it.track, BE_ERROR_RESPONSE, 0);
}

static void answer(char type)
{
	(void)track_reply(&it.track, type, 'I');
}

static void assert_settled(uint64_t client, uint64_t server)
{
	own_settle(&it.own, &it.server);
	assert_int_equal(it.own.serial, client);
	assert_int_equal(it.server, server);
}

static void test_first_parse_of_a_batch_is_there_at_once(void **state)
{
	(void)state;
	change(2);
	assert_int_equal(it.server, 2);
	assert_settled(2, 2);
}

static void test_parse_that_fails_leaves_none(void **state)
{
	(void)state;
	change(2);
	lose();
	assert_settled(OWN_NONE, OWN_NONE);
}

static void test_parse_behind_an_error_has_not_happened(void **state)
{
	(void)state;
	send(FE_BIND);
	change(2);
	assert_int_equal(own_reach(&it.own, &it.server, &it.track),
	    OWN_REACHED);
	send(FE_SYNC);
	lose();
	assert_settled(1, OTHER);
}

static void test_bind_behind_a_parse_that_may_be_skipped_waits(void **state)
{
	(void)state;
	send(FE_BIND);
	change(2);
	send(FE_SYNC);
	assert_int_not_equal(it.server, 2);
	assert_int_equal(own_reach(&it.own, &it.server, &it.track), OWN_WAITS);
	answer(BE_BIND_COMPLETE);
	answer(BE_PARSE_COMPLETE);
	answer(BE_READY_FOR_QUERY);
	assert_int_equal(own_reach(&it.own, &it.server, &it.track),
	    OWN_REACHED);
	assert_int_equal(it.server, 2);
}

static void test_bind_need_not_wait_where_both_had_the_same(void **state)
{
	(void)state;
	send(FE_BIND);
	change(2);
	send(FE_SYNC);
	assert_int_equal(it.server, 2);
	lose();
	assert_settled(1, 1);
}

static void test_one_that_is_skipped_behind_another_is_not_known(void **state)
{
	(void)state;
	send(FE_BIND);
	change(2);
	send(FE_EXECUTE);
	change(3);
	send(FE_SYNC);
	answer(BE_BIND_COMPLETE);
	answer(BE_PARSE_COMPLETE);
	lose();
	own_settle(&it.own, &it.server);
	assert_int_equal(it.own.serial, it.server);
}

static void test_all_that_are_skipped_leave_the_old_one(void **state)
{
	(void)state;
	send(FE_BIND);
	change(2);
	change(3);
	send(FE_SYNC);
	lose();
	assert_settled(1, OTHER);
}

static void test_failure_ahead_of_a_later_batch_is_past(void **state)
{
	(void)state;
	change(2);
	send(FE_SYNC);
	change(3);
	send(FE_SYNC);
	lose();
	assert_settled(3, 3);
}

static void test_parse_behind_one_that_failed_may_be_skipped(void **state)
{
	(void)state;
	change(2);
	send(FE_SYNC);
	send(FE_BIND);
	change(3);
	send(FE_SYNC);
	lose();
	answer(BE_READY_FOR_QUERY);
	/* the Bind fails: there is none since the first Parse failed */
	lose();
	assert_settled(OWN_NONE, OWN_NONE);
}

static void test_again_that_is_skipped_has_changed_nothing(void **state)
{
	(void)state;
	send(FE_BIND);
	send_again();
	send(FE_SYNC);
	assert_int_equal(own_reach(&it.own, &it.server, &it.track), OWN_WAITS);
	lose();
	assert_settled(1, OWN_UNKNOWN);
}

static void test_again_is_there_when_it_is_answered(void **state)
{
	(void)state;
	send_again();
	send(FE_SYNC);
	answer(BE_PARSE_COMPLETE);
	answer(BE_READY_FOR_QUERY);
	assert_settled(1, 1);
}

static void test_parse_behind_an_again_is_undone_with_it(void **state)
{
	(void)state;
	send(FE_BIND);
	send_again();
	change(2);
	send(FE_SYNC);
	lose();
	assert_settled(1, OWN_UNKNOWN);
}

static void test_several_of_which_the_first_is_sure(void **state)
{
	(void)state;
	send(FE_PARSE);
	track_mark(&it.track, OWN_CHANGE);
	send(FE_BIND);
	send(FE_PARSE);
	track_mark(&it.track, OWN_CHANGE);
	own_change_several(&it.own, &it.server,
	    &(struct own_several){ 2, 5, 6 });
	send(FE_SYNC);
	assert_int_equal(it.server, 6);
	answer(BE_PARSE_COMPLETE);
	lose();
	/* of the first one there is no text, but this server has it */
	assert_settled(5, 5);
	assert_int_equal(it.own.text.len, 0);
}

static void test_text_of_what_is_undone_comes_back(void **state)
{
	(void)state;
	assert_int_equal(own_text_reserve(&it.own.text, 10), 0);
	it.own.text.len = 10;
	send(FE_BIND);
	change(2);
	assert_int_equal(it.own.text.len, 0);
	send(FE_SYNC);
	lose();
	assert_int_equal(it.own.text.len, 10);
	assert_true(own_bytes(&it.own) >= 10);
}

static const struct prepared_shape told = { 7, 8, 0 };

static void describe(enum own_mark mark)
{
	send(FE_DESCRIBE);
	track_mark(&it.track, (uint8_t)mark);
}

static void test_what_is_told_is_of_the_newest_if_none_is_behind(void **state)
{
	(void)state;
	describe(OWN_TOLD);
	own_tell(&it.own, &it.track, &told);
	assert_int_equal(it.own.text.told.columns, 8);
}

static void test_what_is_told_ahead_of_a_change_is_of_the_one_before(
    void **state)
{
	(void)state;
	describe(OWN_TOLD);
	change(2);
	own_tell(&it.own, &it.track, &told);
	assert_int_equal(it.own.text.told.columns, 0);
	assert_int_equal(it.own.old.told.columns, 8);
}

static void test_what_is_told_of_one_that_is_past_is_nothing(void **state)
{
	(void)state;
	describe(OWN_TOLD);
	send(FE_SYNC);
	change(2);
	own_tell(&it.own, &it.track, &told);
	assert_int_equal(it.own.text.told.columns, 0);
	assert_int_equal(it.own.old.told.columns, 0);
}

/* The server was sent the text again, and was asked. */
static void compare(uint32_t columns)
{
	it.own.text.told = told;
	send_again();
	describe(OWN_ASKED);
	answer(BE_PARSE_COMPLETE);
	it.own.has = (struct prepared_shape){ 7, columns, 0 };
	own_compare(&it.own, &it.server);
	answer(BE_ROW_DESCRIPTION);
}

static void test_server_with_the_same_shape_has_it(void **state)
{
	(void)state;
	compare(8);
	assert_false(it.own.other);
	assert_settled(1, 1);
}

static void test_server_with_another_shape_does_not(void **state)
{
	(void)state;
	compare(9);
	assert_true(it.own.other);
	assert_settled(1, OWN_UNKNOWN);
	assert_false(it.own.other);
}

static void test_server_that_does_not_say_is_asked_again(void **state)
{
	(void)state;
	send_again();
	describe(OWN_ASKED);
	answer(BE_PARSE_COMPLETE);
	lose();
	assert_settled(1, OWN_UNKNOWN);
}

#define AWAY(t) cmocka_unit_test_setup_teardown(t, away, finish)
#define THERE(t) cmocka_unit_test_setup_teardown(t, there, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AWAY(test_first_parse_of_a_batch_is_there_at_once),
		AWAY(test_parse_that_fails_leaves_none),
		AWAY(test_parse_behind_an_error_has_not_happened),
		AWAY(test_bind_behind_a_parse_that_may_be_skipped_waits),
		THERE(test_bind_need_not_wait_where_both_had_the_same),
		AWAY(test_one_that_is_skipped_behind_another_is_not_known),
		AWAY(test_all_that_are_skipped_leave_the_old_one),
		AWAY(test_failure_ahead_of_a_later_batch_is_past),
		AWAY(test_parse_behind_one_that_failed_may_be_skipped),
		AWAY(test_again_that_is_skipped_has_changed_nothing),
		AWAY(test_again_is_there_when_it_is_answered),
		AWAY(test_parse_behind_an_again_is_undone_with_it),
		AWAY(test_several_of_which_the_first_is_sure),
		AWAY(test_text_of_what_is_undone_comes_back),
		THERE(test_what_is_told_is_of_the_newest_if_none_is_behind),
		THERE(test_what_is_told_ahead_of_a_change_is_of_the_one_before),
		THERE(test_what_is_told_of_one_that_is_past_is_nothing),
		AWAY(test_server_with_the_same_shape_has_it),
		AWAY(test_server_with_another_shape_does_not),
		AWAY(test_server_that_does_not_say_is_asked_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
