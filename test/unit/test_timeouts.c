/* test_timeouts.c - FIFO time-out lists.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timeouts.h"

struct item {
	struct timeout t; /* first, so that a cast finds the item */
	int id;
};

/* What the callbacks saw and shall do. */
struct record {
	int ids[8];
	int count;
	struct timeout_list *list;
	struct timeout *stop, *restart;
	usec_t now;
};

static void on_expired(struct timeout *t, void *arg)
{
	struct record *const r = arg;

	assert_false(timeout_running(t));
	r->ids[r->count++] = ((struct item *)t)->id;
	if (r->stop != NULL)
		timeout_stop(r->stop);
	if (r->restart != NULL)
		timeout_start(r->list, r->restart, r->now);
}

static void count_one(struct timeout *t, void *arg)
{
	(void)t;
	++*(unsigned *)arg;
}

static void test_the_oldest_expire_in_order(void **state)
{
	(void)state;

	struct record r = { .count = 0 };
	struct item a = { .id = 1 }, b = { .id = 2 }, c = { .id = 3 };
	struct timeout_list l;

	timeout_list_init(&l, on_expired, &r);
	timeout_start(&l, &a.t, 10);
	timeout_start(&l, &b.t, 20);
	timeout_start(&l, &c.t, 30);
	assert_int_equal(l.count, 3);

	timeout_list_run(&l, 10, 31);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.ids[0], 1);
	assert_int_equal(r.ids[1], 2);
	assert_int_equal(l.count, 1);
	assert_true(timeout_running(&c.t));
}

static void test_what_goes_on_has_used_up_a_part(void **state)
{
	(void)state;

	struct record r = { .count = 0 };
	struct item a = { .id = 1 }, b = { .id = 2 }, c = { .id = 3 };
	struct item d = { .id = 4 };
	struct timeout_list l, other;

	timeout_list_init(&l, on_expired, &r);
	timeout_list_init(&other, on_expired, &r);
	timeout_start(&other, &b.t, 20);
	timeout_start(&other, &c.t, 30);
	timeout_start(&l, &a.t, 10);
	timeout_start(&l, &d.t, 40);
	timeout_stop(&c.t);
	timeout_resume(&l, &c.t);
	timeout_stop(&b.t);
	timeout_resume(&l, &b.t);
	timeout_stop(&a.t);
	timeout_resume(&l, &a.t);
	timeout_stop(&d.t);
	timeout_resume(&l, &d.t);
	assert_int_equal(l.count, 4);
	timeout_list_run(&l, 10, 41);
	assert_int_equal(r.count, 3);
	assert_true(timeout_running(&d.t));
	timeout_list_run(&l, 10, 51);
	assert_int_equal(r.count, 4);
}

/* 10,000 strangers on a worker make none that travels dear. */
static void test_what_goes_on_finds_no_place_and_none_is_forgotten(void **state)
{
	enum { MANY = 5000 };
	static struct timeout all[2 * MANY];
	struct timeout_list l, other;
	unsigned expired = 0, runs = 0;

	(void)state;
	timeout_list_init(&l, count_one, &expired);
	timeout_list_init(&other, count_one, NULL);
	for (int i = 0; i < MANY; i++)
		timeout_start(&l, &all[i], 100 + i);
	for (int i = 0; i < MANY; i++) {
		timeout_start(&other, &all[MANY + i], i % 100);
		timeout_stop(&all[MANY + i]);
		timeout_resume(&l, &all[MANY + i]);
		assert_ptr_equal(l.head->prev, &all[MANY + i]);
	}
	assert_int_equal(l.count, 2 * MANY);
	/* those that have gone on are due, and no other */
	for (; expired < MANY; runs++)
		(void)timeout_list_run(&l, 1000, 1100);
	assert_in_range(runs, 1, MANY / 10);
	for (int i = 0; i < 2 * MANY; i++)
		assert_int_equal(timeout_running(&all[i]), i < MANY);
	while (timeout_list_run(&l, 1000, 100 + 2 * MANY))
		;
	assert_int_equal(l.count, 0);
	/* and when all are gone there is order again */
	timeout_start(&l, &all[0], 1);
	timeout_start(&l, &all[1], 2);
	timeout_list_run(&l, 1, 3);
	assert_ptr_equal(l.head, &all[1]);
}

static void test_limit_itself_does_not_expire(void **state)
{
	(void)state;

	struct record r = { .count = 0 };
	struct item a = { .id = 1 };
	struct timeout_list l;

	timeout_list_init(&l, on_expired, &r);
	timeout_start(&l, &a.t, 10);
	timeout_list_run(&l, 10, 20);
	assert_int_equal(r.count, 0);
	timeout_list_run(&l, 10, 21);
	assert_int_equal(r.count, 1);
}

static void test_limit_zero_is_off(void **state)
{
	(void)state;

	struct record r = { .count = 0 };
	struct item a = { .id = 1 };
	struct timeout_list l;

	timeout_list_init(&l, on_expired, &r);
	timeout_start(&l, &a.t, 0);
	timeout_list_run(&l, 0, 1000 * USEC);
	timeout_list_run(&l, -1, 1000 * USEC);
	assert_int_equal(r.count, 0);
}

static void test_restart_moves_to_the_tail(void **state)
{
	(void)state;

	struct record r = { .count = 0 };
	struct item a = { .id = 1 }, b = { .id = 2 };
	struct timeout_list l;

	timeout_list_init(&l, on_expired, &r);
	timeout_start(&l, &a.t, 10);
	timeout_start(&l, &b.t, 20);
	timeout_start(&l, &a.t, 30);
	assert_int_equal(l.count, 2);
	timeout_list_run(&l, 5, 28);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.ids[0], 2);
}

static void test_start_leaves_the_other_list(void **state)
{
	(void)state;

	struct record r = { .count = 0 };
	struct item a = { .id = 1 };
	struct timeout_list l, m;

	timeout_list_init(&l, on_expired, &r);
	timeout_list_init(&m, on_expired, &r);
	timeout_start(&l, &a.t, 1);
	timeout_start(&m, &a.t, 2);
	assert_int_equal(l.count, 0);
	assert_int_equal(m.count, 1);
	timeout_list_run(&l, 1, 100);
	assert_int_equal(r.count, 0);
	timeout_stop(&a.t);
	timeout_stop(&a.t);
	assert_int_equal(m.count, 0);
	assert_false(timeout_running(&a.t));
}

static void test_callback_may_stop_the_next(void **state)
{
	(void)state;

	struct item a = { .id = 1 }, b = { .id = 2 }, c = { .id = 3 };
	struct record r = { .stop = &b.t };
	struct timeout_list l;

	timeout_list_init(&l, on_expired, &r);
	timeout_start(&l, &a.t, 1);
	timeout_start(&l, &b.t, 1);
	timeout_start(&l, &c.t, 1);
	timeout_list_run(&l, 1, 100);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.ids[1], 3);
}

static void test_restart_in_callback_ends_the_run(void **state)
{
	(void)state;

	struct item a = { .id = 1 };
	struct record r = { .restart = &a.t, .now = 0 };
	struct timeout_list l;

	timeout_list_init(&l, on_expired, &r);
	r.list = &l;
	timeout_start(&l, &a.t, 0);
	timeout_list_run(&l, 1, 100);
	assert_int_equal(r.count, 1);
	assert_true(timeout_running(&a.t));
	assert_int_equal(l.count, 1);
}

static void count(struct timeout *t, void *arg)
{
	(void)t;
	(*(int *)arg)++;
}

static void test_thousands_expire_in_several_runs(void **state)
{
	(void)state;

	static struct timeout many[5000];
	struct timeout_list l;
	int stopped = 0, before, runs = 0;

	timeout_list_init(&l, count, &stopped);
	for (int i = 0; i < 5000; i++)
		timeout_start(&l, &many[i], 10);
	do {
		before = stopped;
		timeout_list_run(&l, 10, 30);
		assert_in_range(stopped - before, 1, 1000);
		runs++;
	} while (stopped < 5000);
	assert_int_equal(l.count, 0);
	assert_true(runs >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_expire_in_order),
		cmocka_unit_test(test_what_goes_on_has_used_up_a_part),
		cmocka_unit_test(
		    test_what_goes_on_finds_no_place_and_none_is_forgotten),
		cmocka_unit_test(test_limit_itself_does_not_expire),
		cmocka_unit_test(test_limit_zero_is_off),
		cmocka_unit_test(test_restart_moves_to_the_tail),
		cmocka_unit_test(test_start_leaves_the_other_list),
		cmocka_unit_test(test_callback_may_stop_the_next),
		cmocka_unit_test(test_restart_in_callback_ends_the_run),
		cmocka_unit_test(test_thousands_expire_in_several_runs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
