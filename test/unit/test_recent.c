/* test_recent.c - what took how long since somebody looked: percentiles.
 * SPDX-License-Identifier: ISC */
#include "pool/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KIND(k) (1u << RECENT_##k)

static struct recent r;

static int clear(void **state)
{
	(void)state;
	recent_clear(&r);
	return 0;
}

static void test_nothing_noted_has_no_values(void **state)
{
	struct recent_summary s = { .p50 = 7 };

	(void)state;
	recent_summarize(&r, KIND(WAIT), &s);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.p50, 0);
	assert_int_equal(s.p99, 0);
}

static void test_percentiles_are_right_within_a_bucket(void **state)
{
	struct recent_summary s;

	(void)state;
	for (int i = 1; i <= 1000; i++)
		recent_note(&r, RECENT_QUERY, i * 100);
	recent_summarize(&r, KIND(QUERY), &s);
	assert_int_equal(s.count, 1000);
	assert_in_range(s.p50, 48400, 51600);
	assert_in_range(s.p95, 92000, 98000);
	assert_in_range(s.p99, 95900, 102100);
}

static void test_one_value_is_all_percentiles(void **state)
{
	struct recent_summary s;

	(void)state;
	recent_note(&r, RECENT_WAIT, 3);
	recent_summarize(&r, KIND(WAIT), &s);
	assert_int_equal(s.p50, 3);
	assert_int_equal(s.p95, 3);
	assert_int_equal(s.p99, 3);
}

static void test_kinds_are_summed_as_asked(void **state)
{
	struct recent_summary s;

	(void)state;
	recent_note(&r, RECENT_QUERY, 1);
	recent_note(&r, RECENT_ALONE, 2);
	recent_note(&r, RECENT_ALONE, 9);
	recent_note(&r, RECENT_WAIT, 5);
	recent_summarize(&r, KIND(QUERY) | KIND(ALONE), &s);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.p50, 2);
	recent_clear(&r);
	recent_summarize(&r, KIND(QUERY) | KIND(ALONE), &s);
	assert_int_equal(s.count, 0);
}

static void test_times_out_of_all_bounds_are_counted(void **state)
{
	struct recent_summary s;

	(void)state;
	recent_note(&r, RECENT_XACT, INT64_MAX);
	recent_note(&r, RECENT_XACT, -1);
	recent_note(&r, RECENT_XACT, 0);
	recent_summarize(&r, KIND(XACT), &s);
	assert_int_equal(s.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_noted_has_no_values, clear),
		cmocka_unit_test_setup(
		    test_percentiles_are_right_within_a_bucket, clear),
		cmocka_unit_test_setup(test_one_value_is_all_percentiles,
		    clear),
		cmocka_unit_test_setup(test_kinds_are_summed_as_asked, clear),
		cmocka_unit_test_setup(
		    test_times_out_of_all_bounds_are_counted, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
