/* test_counters.c - sums, snapshots and averages.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool/counters.h"

static void test_add_sums_every_counter(void **state)
{
	uint64_t one[COUNTERS];
	struct counters c, sum = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNTERS; i++)
		one[i] = i + 1;
	static_assert(sizeof one == sizeof c, "nothing but counters");
	memcpy(&c, one, sizeof c);
	counters_add(&sum, &c);
	counters_add(&sum, &c);
	for (size_t i = 0; i < COUNTERS; i++)
		assert_int_equal(((uint64_t *)(void *)&sum)[i], 2 * (i + 1));
}

static void test_snapshots_shift(void **state)
{
	struct counted c = { .now = { .xact_count = 1 } };

	(void)state;
	counted_snapshot(&c);
	c.now.xact_count = 5;
	counted_snapshot(&c);
	c.now.xact_count = 9;
	assert_int_equal(c.before.xact_count, 1);
	assert_int_equal(c.last.xact_count, 5);
}

static void test_averages_per_second_and_per_event(void **state)
{
	const struct counters before = { .xact_count = 10, .query_count = 5,
		.received = 100, .xact_time = 1000, .server_parse_count = 1 };
	const struct counters now = { .xact_count = 31, .query_count = 5,
		.received = 1999, .sent = 7, .xact_time = 43021,
		.query_time = 9, .wait_time = 10, .server_parse_count = 4,
		.server_assignment_count = 4, .client_login_count = 2 };
	struct counters avg;

	(void)state;
	counters_average(&avg, &now, &before, 2 * USEC);
	assert_int_equal(avg.xact_count, 10);
	assert_int_equal(avg.query_count, 0);
	assert_int_equal(avg.received, 949);
	assert_int_equal(avg.sent, 3);
	assert_int_equal(avg.xact_time, 42021 / 21);
	assert_int_equal(avg.query_time, 0);	/* no query: no division */
	assert_int_equal(avg.wait_time, 2);
	assert_int_equal(avg.server_parse_count, 1);
	assert_int_equal(avg.client_login_count, 1);
	assert_int_equal(avg.server_assignment_count, 2);
}

static void test_means_count_as_often_as_their_events(void **state)
{
	struct counters sum = { .xact_count = 3, .xact_time = 100, .sent = 5 };
	const struct counters other = { .xact_count = 1, .xact_time = 500,
		.query_count = 2, .query_time = 7, .sent = 6 };

	(void)state;
	counters_add_average(&sum, &other);
	assert_int_equal(sum.xact_count, 4);
	assert_int_equal(sum.xact_time, 200);
	assert_int_equal(sum.query_time, 7);
	assert_int_equal(sum.wait_time, 0);	/* no wait: no division */
	assert_int_equal(sum.sent, 11);
}

static void test_averages_of_extremes(void **state)
{
	const struct counters zero = { 0 };
	const struct counters huge = { .received = UINT64_MAX / 2,
		.xact_count = 1 };
	struct counters avg;

	(void)state;
	counters_average(&avg, &huge, &zero, USEC);
	assert_true(avg.received == UINT64_MAX / 2);
	counters_average(&avg, &zero, &zero, 0);
	assert_int_equal(avg.xact_count, 0);
	counters_average(&avg, &huge, &zero, 3 * USEC);
	assert_int_equal(avg.xact_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_sums_every_counter),
		cmocka_unit_test(test_snapshots_shift),
		cmocka_unit_test(test_averages_per_second_and_per_event),
		cmocka_unit_test(test_means_count_as_often_as_their_events),
		cmocka_unit_test(test_averages_of_extremes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
