/* test_workers_pools.c - who moves to the worker that has less to do, and when.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/workers_pools.h"
#include "pool/pool.h"

static struct {
	struct pool_moves moves;
	usec_t now;
} st;

static int set_up(void **state)
{
	(void)state;
	memset(&st, 0, sizeof st);
	st.now = 1000 * USEC;
	return 0;
}

/* One look, of two workers with 80 clients of the pool each. */
static struct balance_order look(unsigned first, unsigned second)
{
	const struct balance_load loads[] = { { 0, first, 80 },
		{ 1, second, 80 } };

	st.now += USEC;
	return balance_weigh(&st.moves, loads, 2, st.now);
}

static void assert_stay(unsigned first, unsigned second, int looks)
{
	while (looks-- > 0)
		assert_int_equal(look(first, second).clients, 0);
}

static void assert_move(struct balance_order o, unsigned from, unsigned to)
{
	assert_true(o.clients > 0);
	assert_int_equal(o.from, from);
	assert_int_equal(o.to, to);
}

static void test_loads_must_differ_for_long(void **state)
{
	struct balance_order o;

	(void)state;
	assert_stay(100, 0, 2);
	assert_stay(60, 0, 1);
	assert_stay(100, 0, 2);
	o = look(100, 0);
	assert_move(o, 0, 1);
	assert_int_equal(o.clients, 20);
	assert_stay(100, 0, 2);
	assert_move(look(100, 0), 0, 1);
}

static void test_where_both_are_busy_or_neither_all_stay(void **state)
{
	(void)state;
	assert_stay(100, 40, 10);
	assert_stay(70, 0, 10);
	assert_stay(40, 100, 10);
}

static void test_nobody_is_sent_back_soon(void **state)
{
	(void)state;
	assert_stay(100, 0, 2);
	assert_move(look(100, 0), 0, 1);
	assert_stay(0, 100, 28);
	/* but further, if it must be */
	assert_move(look(100, 0), 0, 1);
	assert_stay(0, 100, 29);
	assert_move(look(0, 100), 1, 0);
}

static void test_one_moves_at_least_and_of_none_nobody(void **state)
{
	const struct balance_load one[] = { { 3, 80, 1 }, { 5, 39, 0 } };
	const struct balance_load none[] = { { 3, 80, 0 }, { 5, 39, 9 } };

	(void)state;
	st.moves.looks = 2;
	assert_int_equal(balance_weigh(&st.moves, one, 2, st.now).clients, 1);
	st.moves.looks = 2;
	assert_int_equal(balance_weigh(&st.moves, none, 2, st.now).clients, 0);
	assert_int_equal(balance_weigh(&st.moves, one, 1, st.now).clients, 0);
}

/* --- a second worker, or one --- */

/* One look, at two workers with this load. */
static bool wanted(struct parts_watch *w, unsigned first, unsigned second)
{
	w->load[0] = first;
	w->load[1] = second;
	return first > second ? parts_are_wanted(w, 0, 1) :
	    parts_are_wanted(w, 1, 0);
}

static void test_help_is_for_a_worker_that_needs_a_core_twice(void **state)
{
	struct parts_watch w = { .looks = 0 };

	(void)state;
	parts_watch_init(&w);
	for (int i = 0; i < 10; i++)
		assert_false(wanted(&w, 85, 0));
	for (int i = 0; i < 10; i++)
		assert_false(wanted(&w, i % 2 == 0 ? 100 : 50, 0));
	assert_false(wanted(&w, 100, 0));
	assert_true(wanted(&w, 86, 39));
	assert_true(wanted(&w, 100, 0));
	/* this one needed it once only */
	assert_false(wanted(&w, 0, 100));
	assert_false(wanted(&w, 100, 0));
	for (int i = 0; i < 10; i++)
		assert_false(wanted(&w, 100, 40));
}

static void test_one_worker_does_after_a_quiet_time(void **state)
{
	usec_t since = 0, now = 1000 * USEC;

	(void)state;
	for (int i = 0; i < 60; i++)
		assert_false(parts_are_quiet(&since, 60, now += USEC));
	for (int i = 0; i < 10; i++)
		assert_false(parts_are_quiet(&since, 59, now += USEC));
	assert_false(parts_are_quiet(&since, 60, now += USEC));
	for (int i = 0; i < 10; i++)
		assert_false(parts_are_quiet(&since, 0, now += USEC));
	assert_true(parts_are_quiet(&since, 0, now += USEC));
}

/* What ends the parts of a pool does not begin them again. */
static void test_the_same_load_does_not_flap(void **state)
{
	(void)state;
	for (unsigned all = 0; all <= 200; all++) {
		struct parts_watch w = { .looks = 0 };
		usec_t since = 0, now = 1000 * USEC;
		bool begins = false, ends = false;

		parts_watch_init(&w);
		for (int i = 0; i < 20; i++) {
			/* (two loops need more for it, and not less) */
			begins = wanted(&w, all < 100 ? all : 100, 0);
			ends = parts_are_quiet(&since, all, now += USEC);
		}
		assert_false(begins && ends);
	}
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup(t, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_loads_must_differ_for_long),
		TEST(test_where_both_are_busy_or_neither_all_stay),
		TEST(test_nobody_is_sent_back_soon),
		TEST(test_one_moves_at_least_and_of_none_nobody),
		TEST(test_help_is_for_a_worker_that_needs_a_core_twice),
		TEST(test_one_worker_does_after_a_quiet_time),
		TEST(test_the_same_load_does_not_flap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
