/* test_averages.c - the end of each stats_period, with very many pools.
 * SPDX-License-Identifier: ISC */
#include "pool/averages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool/pool.h"

#define POOLS 5
#define PERIOD (10 * USEC)

struct fixture {
	struct averages averages;
	struct pool pool[POOLS];
};

/* All of them sleep, and none was heard of. */
static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof f);
	for (int i = 0; i < POOLS; i++)
		f.pool[i].wheel.due = WHEEL_NEVER;
	*state = &f;
	return 0;
}

static void work(struct fixture *f, int pool, unsigned count)
{
	f->pool[pool].counted.now.xact_count += count;
	averages_note(&f->averages, &f->pool[pool]);
}

/* A period ends; xact_count of the average. */
static uint64_t end_period(struct fixture *f)
{
	struct counters avg;

	averages_begin(&f->averages);
	averages_go_on(&f->averages, POOLS);
	assert_true(averages_close(&f->averages, PERIOD, &avg));
	assert_false(averages_close(&f->averages, PERIOD, &avg));
	return avg.xact_count;
}

static bool takes_part(const struct fixture *f, int pool)
{
	return f->pool[pool].averages_prev != NULL;
}

static void test_average_is_of_the_last_period(void **state)
{
	struct fixture *f = *state;

	work(f, 0, 10);
	work(f, 1, 20);
	assert_int_equal(end_period(f), 3);
	work(f, 1, 70);
	assert_int_equal(end_period(f), 7);
	assert_int_equal(f->pool[1].counted.before.xact_count, 20);
	assert_int_equal(f->pool[1].counted.last.xact_count, 90);
	assert_int_equal(end_period(f), 0);
}

static void test_pool_at_rest_takes_no_part_after_two_periods(void **state)
{
	struct fixture *f = *state;

	work(f, 0, 10);
	end_period(f);
	assert_true(takes_part(f, 0));
	end_period(f);
	assert_false(takes_part(f, 0));
	assert_int_equal(f->pool[0].counted.before.xact_count, 10);
	/* what it had before is not counted anew */
	work(f, 0, 30);
	assert_int_equal(end_period(f), 3);
}

static void test_pool_that_is_awake_takes_part(void **state)
{
	struct fixture *f = *state;

	f->pool[2].wheel.due = 0;
	averages_note(&f->averages, &f->pool[2]);
	for (int i = 0; i < 4; i++)
		end_period(f);
	assert_true(takes_part(f, 2));
	f->pool[2].wheel.due = WHEEL_NEVER;
	end_period(f);
	assert_false(takes_part(f, 2));
}

static void test_many_are_counted_by_and_by(void **state)
{
	struct fixture *f = *state;
	struct counters avg;

	for (int i = 0; i < POOLS - 1; i++)
		work(f, i, 10);
	averages_begin(&f->averages);
	averages_go_on(&f->averages, 2);
	assert_false(averages_close(&f->averages, PERIOD, &avg));
	/* new ones belong to the next period, those that go to none */
	work(f, POOLS - 1, 1000);
	averages_forget(&f->averages, &f->pool[0]);
	averages_forget(&f->averages, &f->pool[2]);
	averages_forget(&f->averages, &f->pool[2]);
	averages_go_on(&f->averages, 1);
	assert_true(averages_close(&f->averages, PERIOD, &avg));
	assert_int_equal(avg.xact_count, 3);
	assert_int_equal(f->pool[POOLS - 1].counted.last.xact_count, 0);
	assert_int_equal(end_period(f), 100);
}

static void test_who_reads_has_the_rest_counted(void **state)
{
	struct fixture *f = *state;
	struct counters avg;

	for (int i = 0; i < POOLS; i++)
		work(f, i, 10);
	averages_begin(&f->averages);
	averages_go_on(&f->averages, 1);
	averages_settle(&f->averages);
	for (int i = 0; i < POOLS; i++)
		assert_int_equal(f->pool[i].counted.last.xact_count, 10);
	assert_true(averages_close(&f->averages, PERIOD, &avg));
	assert_int_equal(avg.xact_count, 5);
}

static void test_next_end_finds_the_last_one_open(void **state)
{
	struct fixture *f = *state;

	work(f, 0, 10);
	work(f, 1, 10);
	averages_begin(&f->averages);
	averages_go_on(&f->averages, 1);
	work(f, 1, 10);
	assert_int_equal(end_period(f), 0);
	assert_int_equal(f->pool[0].counted.before.xact_count, 10);
	assert_int_equal(f->pool[1].counted.before.xact_count, 20);
	assert_int_equal(f->pool[1].counted.last.xact_count, 20);
}

static void test_without_pools_all_is_zero(void **state)
{
	assert_int_equal(end_period(*state), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	static const struct CMUnitTest tests[] = {
		CASE(test_average_is_of_the_last_period),
		CASE(test_pool_at_rest_takes_no_part_after_two_periods),
		CASE(test_pool_that_is_awake_takes_part),
		CASE(test_many_are_counted_by_and_by),
		CASE(test_who_reads_has_the_rest_counted),
		CASE(test_next_end_finds_the_last_one_open),
		CASE(test_without_pools_all_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
