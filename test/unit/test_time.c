/* test_time.c - the clock of the loop and its fake.
 * SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/time.h"

static void test_now_stands_still_within_a_turn(void **state)
{
	(void)state;

	time_update();
	const usec_t turn = time_now();

	while (time_precise() <= turn + 10)
		;
	assert_int_equal(time_now(), turn);
	time_update();
	assert_true(time_now() > turn);
}

static void *take_a_turn(void *arg)
{
	usec_t *const now = arg;

	time_note_lapse(0, USEC);
	time_update();
	*now = time_now();
	return NULL;
}

static void test_threads_have_turns_of_their_own(void **state)
{
	usec_t other;
	pthread_t t;

	(void)state;
	time_update();
	const usec_t turn = time_now();

	while (time_precise() <= turn + 10)
		;
	assert_int_equal(pthread_create(&t, NULL, take_a_turn, &other), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_true(other > turn);
	assert_int_equal(time_now(), turn);
	/* nor was there a lapse here */
	assert_int_equal(time_age(turn - 10, turn), 10);
}

static void test_fake_clock_stands_still(void **state)
{
	(void)state;

	time_set_fake(5 * USEC);
	time_update();
	assert_int_equal(time_now(), 5 * USEC);
	assert_int_equal(time_precise(), 5 * USEC);
	time_set_fake(0);
	assert_int_equal(time_now(), 0);
	time_set_fake(-1);
}

static void test_end_of_fake_brings_the_clock_back(void **state)
{
	(void)state;

	const usec_t before = time_precise();

	time_set_fake(1);
	time_set_fake(-1);
	assert_true(time_now() >= before);
	assert_true(time_precise() >= before);
}

static void test_wall_is_the_time_of_day(void **state)
{
	(void)state;

	const usec_t before = (usec_t)time(NULL);
	const usec_t wall = time_wall(time_precise()) / USEC;
	/* An hour ago by one clock is an hour ago by the other. */
	const usec_t past = time_wall(time_precise() - 3600 * USEC) / USEC;
	const usec_t after = (usec_t)time(NULL);

	/* one reads a coarser clock, which is behind */
	assert_in_range(wall, before - 1, after + 1);
	assert_in_range(past, before - 3601, after - 3599);
}

static void test_format_has_date_time_and_zone(void **state)
{
	(void)state;

	char buf[40];

	time_set_fake(1769850300 * USEC + 999999);
	setenv("TZ", "UTC", 1);
	tzset();
	assert_string_equal(time_format(time_now(), buf, sizeof buf),
	    "2026-01-31 09:05:00 UTC");
	setenv("TZ", "XYZ-2", 1);
	tzset();
	assert_string_equal(time_format(time_now(), buf, sizeof buf),
	    "2026-01-31 11:05:00 XYZ");
	time_set_fake(-1);
}

static void test_format_without_room_is_empty(void **state)
{
	(void)state;

	char buf[8] = "garbage";

	assert_string_equal(time_format(time_now(), buf, sizeof buf), "");
}

static void test_utc_is_written_as_postgresql_does(void **state)
{
	(void)state;

	char buf[40];

	assert_string_equal(time_format_utc(1769850300 * USEC + 7, buf,
	    sizeof buf), "2026-01-31 09:05:00.000007+00");
	assert_string_equal(time_format_utc(-1, buf, sizeof buf),
	    "1969-12-31 23:59:59.999999+00");
	assert_string_equal(time_format_utc(0, buf, 20), "");
}

static void test_a_lapse_makes_only_older_things_younger(void **state)
{
	(void)state;

	assert_int_equal(time_age(10, 100), 90);
	time_note_lapse(50, 30);
	assert_int_equal(time_age(49, 100), 21);
	assert_int_equal(time_age(50, 100), 50);
	assert_int_equal(time_age(90, 100), 10);
	time_note_lapse(0, 0);
	assert_int_equal(time_age(49, 100), 51);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_now_stands_still_within_a_turn),
		cmocka_unit_test(test_threads_have_turns_of_their_own),
		cmocka_unit_test(test_fake_clock_stands_still),
		cmocka_unit_test(test_end_of_fake_brings_the_clock_back),
		cmocka_unit_test(test_wall_is_the_time_of_day),
		cmocka_unit_test(test_format_has_date_time_and_zone),
		cmocka_unit_test(test_format_without_room_is_empty),
		cmocka_unit_test(test_utc_is_written_as_postgresql_does),
		cmocka_unit_test(
		    test_a_lapse_makes_only_older_things_younger),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
