/* test_histogram.c - percentiles of what was counted.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "base/mem.h"

static void note_all(struct histogram *h, const uint64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		histogram_note(h, values[i], 1);
}

static void test_nothing_counted_is_all_zero(void **state)
{
	struct histogram h = { 0 };
	struct histogram_summary s;

	(void)state;
	histogram_summarize(&h, &s);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.at[0], 0);
	assert_int_equal(s.max, 0);
	histogram_end_period(&h);
	assert_true(histogram_is_still(&h));
	histogram_fini(&h);
}

static void test_small_values_are_exact(void **state)
{
	struct histogram h = { 0 };
	struct histogram_summary s;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		histogram_note(&h, i, 1);
	histogram_summarize(&h, &s);
	assert_int_equal(s.count, 10);
	assert_int_equal(s.at[0], 4);	/* nearest rank: the 5th */
	assert_int_equal(s.at[1], 8);	/* the 9th */
	assert_int_equal(s.at[4], 9);
	assert_int_equal(s.max, 9);
	histogram_fini(&h);
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 24;
}

/* Sorted values are the oracle. */
static void test_percentiles_are_within_five_percent(void **state)
{
	static uint64_t values[20000];
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		const size_t n = 1 + next_random(&seed) % 20000;
		struct histogram h = { 0 };
		struct histogram_summary s;

		/* of all magnitudes up to an hour */
		for (size_t i = 0; i < n; i++)
			values[i] = next_random(&seed) >>
			    (8 + next_random(&seed) % 32);
		note_all(&h, values, n);
		qsort(values, n, sizeof *values, compare);
		histogram_summarize(&h, &s);
		assert_int_equal(s.count, n);
		assert_int_equal(s.max, values[n - 1]);
		for (unsigned r = 0; r < HISTOGRAM_RANKS; r++) {
			const size_t rank =
			    (n * histogram_rank(r) + 999) / 1000;
			const uint64_t want = values[rank - 1];
			const uint64_t far = s.at[r] > want ?
			    s.at[r] - want : want - s.at[r];

			assert_true(far * 20 <= want);
		}
		histogram_fini(&h);
	}
}

static void test_greatest_values_keep_their_maximum(void **state)
{
	struct histogram h = { 0 };
	struct histogram_summary s;

	(void)state;
	histogram_note(&h, UINT64_MAX, 1);
	histogram_note(&h, (uint64_t)1 << 37, 1);
	histogram_note(&h, ((uint64_t)1 << 37) - 1, 1);
	histogram_summarize(&h, &s);
	assert_int_equal(s.count, 3);
	assert_true(s.max == UINT64_MAX);
	assert_true(s.at[4] > (uint64_t)1 << 36);
	histogram_fini(&h);
}

static void test_period_ends_and_the_sum_goes_on(void **state)
{
	static const uint64_t first[] = { 1, 2, 3 }, second[] = { 100 };
	struct histogram h = { 0 };
	struct histogram_summary s;

	(void)state;
	note_all(&h, first, 3);
	assert_false(histogram_is_still(&h));
	histogram_end_period(&h);
	assert_int_equal(h.last.count, 3);
	assert_int_equal(h.last.at[0], 2);
	assert_int_equal(h.last.max, 3);
	assert_false(histogram_is_still(&h));

	note_all(&h, second, 1);
	assert_int_equal(h.last.max, 3);
	histogram_summarize(&h, &s);
	assert_int_equal(s.count, 4);
	assert_int_equal(s.max, 100);
	histogram_end_period(&h);
	assert_int_equal(h.last.count, 1);
	assert_int_equal(h.last.at[0], 100);
	histogram_end_period(&h);
	assert_true(histogram_is_still(&h));
	assert_int_equal(h.last.max, 0);
	histogram_summarize(&h, &s);
	assert_int_equal(s.count, 4);
	assert_int_equal(s.max, 100);
	histogram_fini(&h);
}

static void test_sums_have_all_of_their_parts(void **state)
{
	struct histogram a = { 0 }, b = { 0 }, sum = { 0 };
	struct histogram_summary s;

	(void)state;
	histogram_note(&a, 5, 1);
	histogram_end_period(&a);
	histogram_note(&a, 7, 1);
	histogram_note(&b, 3000, 1);
	histogram_add(&sum, &a);
	histogram_add_now(&sum, &b);
	histogram_summarize(&sum, &s);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.at[0], 7);
	assert_int_equal(s.max, 3000);
	/* the parts are as they were */
	histogram_summarize(&a, &s);
	assert_int_equal(s.count, 2);
	histogram_fini(&a);
	histogram_fini(&b);
	histogram_fini(&sum);
}

static void test_sum_of_last_periods_is_at_most_the_worst(void **state)
{
	struct histogram_summary sum = { 2, { 1, 5, 5, 5, 5 }, 9 };
	const struct histogram_summary other = { 3, { 4, 4, 6, 6, 6 }, 7 };

	(void)state;
	histogram_summary_add(&sum, &other);
	assert_int_equal(sum.count, 5);
	assert_int_equal(sum.at[0], 4);
	assert_int_equal(sum.at[1], 5);
	assert_int_equal(sum.at[4], 6);
	assert_int_equal(sum.max, 9);
}

static void test_what_has_no_memory_is_not_counted(void **state)
{
	struct histogram h = { 0 }, sum = { 0 };
	struct histogram_summary s;

	(void)state;
	mem_fail_at(1);
	histogram_note(&h, 1000, 1);
	mem_fail_at(0);
	histogram_summarize(&h, &s);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.max, 0);
	histogram_note(&h, 1000, 1);
	mem_fail_at(1);
	histogram_add(&sum, &h);
	mem_fail_at(0);
	histogram_summarize(&sum, &s);
	assert_int_equal(s.count, 0);
	histogram_fini(&h);
	histogram_fini(&sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_counted_is_all_zero),
		cmocka_unit_test(test_small_values_are_exact),
		cmocka_unit_test(test_percentiles_are_within_five_percent),
		cmocka_unit_test(test_greatest_values_keep_their_maximum),
		cmocka_unit_test(test_period_ends_and_the_sum_goes_on),
		cmocka_unit_test(test_sums_have_all_of_their_parts),
		cmocka_unit_test(
		    test_sum_of_last_periods_is_at_most_the_worst),
		cmocka_unit_test(test_what_has_no_memory_is_not_counted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
