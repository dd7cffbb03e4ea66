/* test_latencies.c - what takes how long in a pool.
 * SPDX-License-Identifier: ISC */
#include "pool/latencies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static uint64_t count(const struct pool *p, enum latency what)
{
	struct histogram_summary s;

	histogram_summarize(&p->latencies->of[what], &s);
	return s.count;
}

static void test_pool_without_a_note_has_none(void **state)
{
	struct pool p = { .latencies = NULL };

	(void)state;
	latencies_settle(&p);
	assert_null(p.latencies);
	assert_true(latencies_are_still(&p));
	latencies_free(&p.latencies);
}

static void test_query_alone_is_a_transaction_too(void **state)
{
	struct pool p = { .latencies = NULL };

	(void)state;
	latencies_note_end(&p, RECENT_ALONE, 7);
	assert_false(latencies_are_still(&p));
	latencies_note(&p, LATENCY_QUERY, 9);
	latencies_settle(&p);
	assert_true(count(&p, LATENCY_QUERY) == 2);
	assert_true(count(&p, LATENCY_XACT) == 1);
	latencies_settle(&p);
	assert_true(count(&p, LATENCY_QUERY) == 2);
	latencies_free(&p.latencies);
	assert_null(p.latencies);
}

static void test_server_at_once_is_a_wait_of_no_time(void **state)
{
	struct pool p = { .latencies = NULL };

	(void)state;
	latencies_note(&p, LATENCY_WAIT, 500);
	latencies_note_unassigned(&p, 1000);
	p.counted.now.server_assignment_count = 4;
	latencies_settle(&p);
	assert_true(count(&p, LATENCY_WAIT) == 5);
	latencies_settle(&p);
	assert_true(count(&p, LATENCY_WAIT) == 5);
	latencies_free(&p.latencies);
}

static void test_end_of_a_period_adds_to_the_sum(void **state)
{
	struct pool p = { .latencies = NULL };
	struct pool sum = { .latencies = NULL };

	(void)state;
	assert_non_null(latencies_get(&sum));
	latencies_note(&p, LATENCY_LOGIN, 100);
	latencies_end_period(sum.latencies, &p);
	assert_true(count(&sum, LATENCY_LOGIN) == 1);
	assert_true(p.latencies->of[LATENCY_LOGIN].last.count == 1);
	latencies_end_period(sum.latencies, &p);
	assert_true(count(&sum, LATENCY_LOGIN) == 1);
	assert_true(count(&p, LATENCY_LOGIN) == 1);
	assert_true(latencies_are_still(&p));
	latencies_free(&p.latencies);
	latencies_free(&sum.latencies);
}

static void test_without_memory_nothing_is_noted(void **state)
{
	struct pool p = { .latencies = NULL };

	(void)state;
	mem_fail_at(1);
	latencies_note(&p, LATENCY_QUERY, 1);
	mem_fail_at(1);
	latencies_note_unassigned(&p, 1);
	mem_fail_at(0);
	assert_null(p.latencies);
	for (int i = 0; i < LATENCIES; i++)
		assert_non_null(latency_name((enum latency)i));
}

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
		cmocka_unit_test(test_pool_without_a_note_has_none),
		cmocka_unit_test(test_query_alone_is_a_transaction_too),
		cmocka_unit_test(test_server_at_once_is_a_wait_of_no_time),
		cmocka_unit_test(test_end_of_a_period_adds_to_the_sum),
		cmocka_unit_test(test_without_memory_nothing_is_noted),
		cmocka_unit_test_setup(test_nothing_noted_has_no_values, clear),
		cmocka_unit_test_setup(
		    test_percentiles_are_right_within_a_bucket, clear),
		cmocka_unit_test_setup(test_one_value_is_all_percentiles,
		    clear),
		cmocka_unit_test_setup(test_kinds_are_summed_as_asked, clear),
		cmocka_unit_test_setup(
		    test_times_out_of_all_bounds_are_counted, clear),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
