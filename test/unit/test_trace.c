/* test_trace.c - unit tests of what may be left in a session.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "state/trace.h"

static void test_tags_tell(void **state)
{
	static const char *const yes[] = { "SET", "RESET", "LISTEN", "DO",
	    "DECLARE CURSOR", "PREPARE", "LOAD" };
	static const char *const no[] = { "SELECT 1", "INSERT 0 1", "COMMIT",
	    "ROLLBACK", "DELETE 3", "UNLISTEN", "DEALLOCATE", "DISCARD ALL",
	    "DISCARD PLANS", "LOCK TABLE", "PREPARE TRANSACTION", "" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
		struct trace t = { 0 };

		trace_tag(&t, yes[i], true);
		assert_true(trace_is_left(&t));
	}
	for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
		struct trace t = { 0 };

		trace_tag(&t, no[i], true);
		assert_false(trace_is_left(&t));
	}
}

static enum trace_hint look(char type, const char *tag)
{
	uint8_t m[MSG_HEADER + 32] = { (uint8_t)type };
	const size_t n = strlen(tag) + 1;

	memcpy(m + MSG_HEADER, tag, n);
	return trace_look(m, MSG_HEADER + n);
}

/* What trace_tag() would note must not be passed by. */
static void test_the_hot_path_leaves_out_no_tag_that_tells(void **state)
{
	static const char *const tags[] = { "SET", "RESET", "LISTEN", "DO",
	    "DECLARE CURSOR", "PREPARE", "LOAD", "CREATE TABLE", "DISCARD ALL",
	    "SELECT 1", "INSERT 0 1", "MERGE 2", "COPY 3", "UPDATE 1", "BEGIN",
	    "COMMIT", "CLOSE CURSOR", "NOTIFY", "CREATE SEQUENCE", "",
	    "ALTER TABLE", "EXPLAIN", "REFRESH MATERIALIZED VIEW" };

	(void)state;
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
		const enum trace_hint hint = look(BE_COMMAND_COMPLETE, tags[i]);
		struct trace t = { 0 };

		assert_true(trace_is_blank(&t));
		trace_tag(&t, tags[i], true);
		assert_true(trace_is_blank(&t) || hint != TRACE_NOTHING);
		assert_int_equal(look(BE_DATA_ROW, tags[i]), TRACE_NOTHING);
		t.drawn = false;
		assert_true(trace_is_blank(&t) || hint == TRACE_TELLS);
	}
	assert_int_equal(look(BE_COMMAND_COMPLETE, "INSERT 0 1"), TRACE_DRAWS);
	assert_int_equal(look(BE_COMMAND_COMPLETE, "SELECT 1"), TRACE_SELECTS);
	assert_int_equal(look(BE_COMMAND_COMPLETE, "START TRANSACTION"),
	    TRACE_NOTHING);
	assert_int_equal(look(BE_COMMAND_COMPLETE, "EXPLAIN"), TRACE_DRAWS);
	assert_int_equal(look(BE_PORTAL_SUSPENDED, ""), TRACE_DRAWS);
}

static void test_set_local_leaves_nothing(void **state)
{
	struct trace t = { .local = 2 };

	(void)state;
	trace_tag(&t, "SET", false);
	trace_tag(&t, "SET", false);
	assert_false(trace_is_left(&t));
	trace_tag(&t, "SET", false);
	assert_true(trace_is_left(&t));
}

/* Was it the SET LOCAL that failed, or the other one? */
static void test_error_leaves_doubt(void **state)
{
	struct trace t = { .local = 1, .failed = true };

	(void)state;
	assert_false(trace_is_left(&t));
	trace_tag(&t, "SET", false);
	assert_true(trace_is_left(&t));
}

static void test_discard_all_takes_back(void **state)
{
	struct trace t = { 0 };

	(void)state;
	trace_tag(&t, "SET", true);
	trace_tag(&t, "PREPARE", true);
	trace_tag(&t, "DISCARD ALL", true);
	assert_false(trace_is_left(&t));
	assert_true(t.discarded && trace_is_any(&t));
	trace_tag(&t, "SET", true);
	assert_true(trace_is_left(&t));
	trace_clear(&t);
	assert_false(trace_is_any(&t));
}

/* What was sent behind it is in the trace already. */
static void test_discard_all_in_front_of_others_does_not(void **state)
{
	struct trace t = { .marked = true };

	(void)state;
	trace_tag(&t, "DISCARD ALL", false);
	assert_true(trace_is_left(&t));
}

/* Of numbers that were drawn, those that came behind it are left. */
static void test_discard_all_is_in_the_order_of_what_was_run(void **state)
{
	struct trace t = { 0 };

	(void)state;
	assert_true(trace_has_drawn(&t, true));
	trace_tag(&t, "INSERT 0 1", false);
	trace_tag(&t, "DISCARD ALL", false);
	assert_false(trace_has_drawn(&t, true));
	trace_tag(&t, "INSERT 0 1", false);
	assert_true(trace_has_drawn(&t, false));
}

static void test_unnamed_statement_outlives_discard_all(void **state)
{
	struct trace t = { .marked = true, .unnamed = true };

	(void)state;
	trace_tag(&t, "DISCARD ALL", true);
	assert_true(trace_is_left(&t));
}

static void test_library_and_named_statement_stay(void **state)
{
	struct trace t = { .lasting = true };

	(void)state;
	trace_tag(&t, "LOAD", true);
	trace_tag(&t, "DISCARD ALL", true);
	assert_true(t.pins == PIN_LOADED && t.lasting && trace_is_left(&t));
	trace_clear(&t);
	assert_true(t.pins == 0 && t.lasting && !trace_is_left(&t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags_tell),
		cmocka_unit_test(
		    test_the_hot_path_leaves_out_no_tag_that_tells),
		cmocka_unit_test(test_set_local_leaves_nothing),
		cmocka_unit_test(test_error_leaves_doubt),
		cmocka_unit_test(test_discard_all_takes_back),
		cmocka_unit_test(test_discard_all_in_front_of_others_does_not),
		cmocka_unit_test(
		    test_discard_all_is_in_the_order_of_what_was_run),
		cmocka_unit_test(test_unnamed_statement_outlives_discard_all),
		cmocka_unit_test(test_library_and_named_statement_stay),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
