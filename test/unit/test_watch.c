/* test_watch.c - a thread that hangs is noticed once, and once that it is back.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/watch.h"

static void test_who_moves_on_is_no_news(void **state)
{
	struct watch w = { 0 };

	(void)state;
	for (unsigned n = 0; n < 5 * WATCH_LOOKS; n++)
		assert_int_equal(watch_look(&w, n / 3), WATCH_NONE);
	assert_false(watch_hangs(&w));
}

static void test_who_hangs_is_told_of_once(void **state)
{
	struct watch w = { 0 };

	(void)state;
	assert_int_equal(watch_look(&w, 7), WATCH_NONE);
	for (int n = 1; n < WATCH_LOOKS; n++)
		assert_int_equal(watch_look(&w, 7), WATCH_NONE);
	assert_false(watch_hangs(&w));
	assert_int_equal(watch_look(&w, 7), WATCH_HANGS);
	assert_true(watch_hangs(&w));
	assert_int_equal(watch_look(&w, 7), WATCH_NONE);
}

static void test_who_is_back_is_told_of_once(void **state)
{
	struct watch w = { .missed = WATCH_LOOKS };

	(void)state;
	assert_int_equal(watch_look(&w, 1), WATCH_IS_BACK);
	assert_false(watch_hangs(&w));
	assert_int_equal(watch_look(&w, 2), WATCH_NONE);
}

static void test_who_was_waited_for_in_vain_hangs(void **state)
{
	struct watch w = { .seen = 1 };

	(void)state;
	watch_give_up(&w, 2);
	assert_true(watch_hangs(&w));
	assert_int_equal(watch_look(&w, 2), WATCH_NONE);
	assert_int_equal(watch_look(&w, 3), WATCH_IS_BACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_moves_on_is_no_news),
		cmocka_unit_test(test_who_hangs_is_told_of_once),
		cmocka_unit_test(test_who_is_back_is_told_of_once),
		cmocka_unit_test(test_who_was_waited_for_in_vain_hangs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
