/* test_departure.c - SHUTDOWN DRAIN: how many may be told to go by when.
 * SPDX-License-Identifier: ISC */
#include "pool/departure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW (1000 * USEC)
#define TICK (USEC / 10)

static struct departure d;

static int setup(void **state)
{
	(void)state;
	d = (struct departure){ .left = 0 };
	return 0;
}

static void begin(usec_t time, unsigned clients)
{
	departure_begin(&d, NOW, NOW + time);
	d.doors = NOW;
	d.shut = true;
	d.left = clients;
}

/* All who may go are idle. Returns how many went. */
static unsigned tick(usec_t now)
{
	const unsigned before = d.told;

	departure_earn(&d, d.left, now);
	while (departure_may_tell(&d)) {
		departure_note_told(&d);
		d.left--;
	}
	return d.told - before;
}

static void test_there_is_none_at_first(void **state)
{
	(void)state;
	assert_false(departure_is_on(&d));
	assert_false(departure_may_tell(&d));
	assert_false(departure_is_late(&d, NOW));
	assert_null(departure_phase(&d));
}

static void test_a_thousand_go_evenly_in_most_of_the_time(void **state)
{
	(void)state;
	begin(10 * USEC, 1000);
	for (int i = 1; i <= 100 && d.left > 0; i++) {
		const unsigned n = tick(NOW + i * TICK);

		assert_in_range(n, d.left == 0 ? 0 : 11, 14);
		assert_in_range(d.told, (unsigned)i * 12, (unsigned)i * 13);
	}
	assert_int_equal(d.told, 1000);
}

static void test_a_few_go_one_a_tick(void **state)
{
	(void)state;
	begin(600 * USEC, 5);
	for (int i = 1; i <= 5; i++)
		assert_int_equal(tick(NOW + i * TICK), 1);
	assert_int_equal(d.left, 0);
	assert_int_equal(tick(NOW + TICK), 0);
}

static void test_who_was_busy_goes_when_its_work_is_done(void **state)
{
	(void)state;
	begin(10 * USEC, 100);
	/* nobody is idle for half of the paced time */
	for (int i = 1; i <= 40; i++)
		departure_earn(&d, d.left, NOW + i * TICK);
	assert_in_range(tick(NOW + 4 * USEC), 49, 75);
	/* and in the last part nobody has to wait */
	(void)tick(NOW + 9 * USEC);
	assert_int_equal(d.left, 0);
}

static void test_no_time_lets_all_go_at_once(void **state)
{
	(void)state;
	begin(0, 10000);
	assert_int_equal(tick(NOW), 10000);
}

static void test_the_sooner_end_counts(void **state)
{
	(void)state;
	departure_begin(&d, NOW + 5 * USEC, NOW + 60 * USEC);
	assert_string_equal(departure_phase(&d), "grace");
	departure_begin(&d, NOW + 9 * USEC, NOW + 99 * USEC);
	assert_int_equal(d.doors, NOW + 5 * USEC);
	assert_int_equal(departure_seconds(&d, NOW), 60);
	departure_begin(&d, NOW, NOW + 10 * USEC - 1);
	assert_int_equal(d.doors, NOW);
	assert_int_equal(departure_seconds(&d, NOW), 10);
	assert_int_equal(departure_seconds(&d, NOW + 99 * USEC), 0);
	d.shut = true;
	assert_string_equal(departure_phase(&d), "leaving");
	/* doors that are shut stay so */
	departure_begin(&d, NOW - USEC, NOW + USEC);
	assert_int_equal(d.doors, NOW);
	assert_int_equal(d.end, NOW + USEC);
}

static void test_late_is_who_came_after_the_doors_were_shut(void **state)
{
	(void)state;
	departure_begin(&d, NOW, NOW + USEC);
	assert_false(departure_is_late(&d, NOW + 1));
	d.shut = true;
	assert_false(departure_is_late(&d, NOW));
	assert_true(departure_is_late(&d, NOW + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_there_is_none_at_first, setup),
		cmocka_unit_test_setup(
		    test_a_thousand_go_evenly_in_most_of_the_time, setup),
		cmocka_unit_test_setup(test_a_few_go_one_a_tick, setup),
		cmocka_unit_test_setup(
		    test_who_was_busy_goes_when_its_work_is_done, setup),
		cmocka_unit_test_setup(test_no_time_lets_all_go_at_once,
		    setup),
		cmocka_unit_test_setup(test_the_sooner_end_counts, setup),
		cmocka_unit_test_setup(
		    test_late_is_who_came_after_the_doors_were_shut, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
