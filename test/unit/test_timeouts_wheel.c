/* test_timeouts_wheel.c - things that are due at a time of their own.
 * SPDX-License-Identifier: ISC */
#include "base/timeouts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GRAIN 100
#define ROUND (GRAIN * WHEEL_SLOTS)
#define START 12345

struct fixture {
	struct wheel wheel;
	struct wheel_node a, b, c;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof f);
	wheel_init(&f.wheel, GRAIN, START);
	*state = &f;
	return 0;
}

/* Nothing but n is due now; NULL: nothing is. */
static void expect(struct fixture *f, usec_t now, struct wheel_node *n)
{
	wheel_turn(&f->wheel, now);
	if (n != NULL)
		assert_ptr_equal(wheel_take(&f->wheel), n);
	assert_null(wheel_take(&f->wheel));
}

static void test_new_one_is_due_in_the_next_turn(void **state)
{
	struct fixture *f = *state;

	wheel_add(&f->wheel, &f->a);
	assert_null(wheel_take(&f->wheel));
	expect(f, START, &f->a);
	assert_true(f->a.due == WHEEL_NEVER);
	expect(f, START + ROUND, NULL);
}

static void test_none_comes_too_early_or_a_round_too_late(void **state)
{
	struct fixture *f = *state;
	static const usec_t after[] = { 1, GRAIN - 46, GRAIN - 45, GRAIN,
		5 * GRAIN + 7, ROUND - 1, ROUND, ROUND + 1, 3 * ROUND + 50 };

	wheel_add(&f->wheel, &f->a);
	expect(f, START, &f->a);
	for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
		const usec_t begun = START + (usec_t)i * 4 * ROUND;
		const usec_t due = begun + after[i];

		expect(f, begun, NULL);
		wheel_hasten(&f->a, due);
		for (usec_t t = begun; t < due; t += 33)
			expect(f, t, NULL);
		expect(f, due - 1, NULL);
		expect(f, due, &f->a);
	}
}

static void test_the_sooner_time_counts(void **state)
{
	struct fixture *f = *state;

	wheel_add(&f->wheel, &f->a);
	expect(f, START, &f->a);
	wheel_hasten(&f->a, START + 500);
	wheel_hasten(&f->a, START + 900);
	assert_int_equal(f->a.due, START + 500);
	wheel_hasten(&f->a, START + 300);
	expect(f, START + 300, &f->a);
	wheel_hasten(&f->a, START + 900);
	wheel_wake(&f->a);
	expect(f, START + 301, &f->a);
	expect(f, START + 900, NULL);
}

static void test_what_was_due_in_the_past_is_due_now(void **state)
{
	struct fixture *f = *state;

	wheel_add(&f->wheel, &f->a);
	expect(f, START + ROUND, &f->a);
	wheel_hasten(&f->a, START);
	expect(f, START + ROUND, &f->a);
}

static void test_long_pause_loses_nobody(void **state)
{
	struct fixture *f = *state;

	wheel_add(&f->wheel, &f->a);
	wheel_add(&f->wheel, &f->b);
	wheel_turn(&f->wheel, START);
	while (wheel_take(&f->wheel) != NULL)
		;
	wheel_hasten(&f->a, START + GRAIN);
	wheel_hasten(&f->b, START + 99 * ROUND);
	expect(f, START + 50 * ROUND, &f->a);
	expect(f, START + 99 * ROUND, &f->b);
}

static void test_what_is_left_comes_first_in_the_next_turn(void **state)
{
	struct fixture *f = *state;

	wheel_add(&f->wheel, &f->a);
	wheel_add(&f->wheel, &f->b);
	wheel_turn(&f->wheel, START);
	assert_ptr_equal(wheel_take(&f->wheel), &f->a);
	/* woken while its turn is on: it is not looked at twice */
	wheel_wake(&f->a);
	wheel_add(&f->wheel, &f->c);
	wheel_turn(&f->wheel, START + 1);
	assert_ptr_equal(wheel_take(&f->wheel), &f->b);
	assert_ptr_equal(wheel_take(&f->wheel), &f->a);
	assert_ptr_equal(wheel_take(&f->wheel), &f->c);
	assert_null(wheel_take(&f->wheel));
}

static void test_removed_one_is_not_due_wherever_it_was(void **state)
{
	struct fixture *f = *state;

	wheel_add(&f->wheel, &f->a);
	wheel_add(&f->wheel, &f->b);
	wheel_add(&f->wheel, &f->c);
	wheel_remove(&f->a);
	wheel_turn(&f->wheel, START);
	assert_ptr_equal(wheel_take(&f->wheel), &f->b);
	wheel_remove(&f->c);
	assert_null(wheel_take(&f->wheel));
	wheel_hasten(&f->b, START + 500);
	wheel_remove(&f->b);
	wheel_remove(&f->b);
	expect(f, START + ROUND, NULL);
	/* and can come again */
	wheel_add(&f->wheel, &f->b);
	expect(f, START + ROUND, &f->b);
	wheel_remove(&f->b);
}

static void test_one_of_no_wheel_is_left_alone(void **state)
{
	struct fixture *f = *state;

	wheel_wake(&f->a);
	wheel_hasten(&f->a, 700);
	wheel_remove(&f->a);
	assert_int_equal(f->a.due, 0);
}

/* A model that looks at all. */
static void test_many_come_each_at_its_time(void **state)
{
	enum { NODES = 100, STEPS = 20000 };
	static struct wheel_node nodes[NODES];
	static struct wheel w;
	static bool due[NODES];
	usec_t now = START;

	(void)state;
	srand(7);
	wheel_init(&w, GRAIN, now);
	for (int i = 0; i < NODES; i++)
		wheel_add(&w, &nodes[i]);
	for (int step = 0; step < STEPS; step++) {
		struct wheel_node *n;

		now += rand() % (2 * GRAIN);
		for (int i = 0; i < NODES; i++)
			due[i] = nodes[i].due <= now;
		wheel_turn(&w, now);
		while ((n = wheel_take(&w)) != NULL) {
			assert_true(due[n - nodes]);
			due[n - nodes] = false;
			wheel_hasten(n, now + rand() % (3 * ROUND));
		}
		for (int i = 0; i < NODES; i++)
			assert_false(due[i]);
		wheel_hasten(&nodes[rand() % NODES], now + rand() % ROUND);
		wheel_wake(&nodes[rand() % NODES]);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	static const struct CMUnitTest tests[] = {
		CASE(test_new_one_is_due_in_the_next_turn),
		CASE(test_none_comes_too_early_or_a_round_too_late),
		CASE(test_the_sooner_time_counts),
		CASE(test_what_was_due_in_the_past_is_due_now),
		CASE(test_long_pause_loses_nobody),
		CASE(test_what_is_left_comes_first_in_the_next_turn),
		CASE(test_removed_one_is_not_due_wherever_it_was),
		CASE(test_one_of_no_wheel_is_left_alone),
		CASE(test_many_come_each_at_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
