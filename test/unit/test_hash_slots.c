/* test_hash_slots.c - a hash table in one piece.
 * SPDX-License-Identifier: ISC */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

#define ITEMS 500

static bool is_int(const void *item, const void *key)
{
	return *(const int *)item == *(const int *)key;
}

static int *find(const struct slots *s, uint32_t hash, int value)
{
	return slots_find(s, hash, is_int, &value);
}

static void test_empty_one_has_nothing(void **state)
{
	unsigned at = 0;

	(void)state;
	assert_null(find(NULL, 1, 1));
	assert_int_equal(slots_count(NULL), 0);
	assert_null(slots_next(NULL, &at));
}

static void test_same_hash_is_not_the_same(void **state)
{
	struct slots *s = NULL;
	int one = 1, two = 2, three = 3;

	(void)state;
	assert_int_equal(slots_add(&s, 7, &one), 0);
	assert_int_equal(slots_add(&s, 7, &two), 0);
	assert_int_equal(slots_add(&s, 15, &three), 0);
	assert_int_equal(slots_count(s), 3);
	assert_ptr_equal(find(s, 7, 1), &one);
	assert_ptr_equal(find(s, 7, 2), &two);
	assert_null(find(s, 7, 3));
	assert_ptr_equal(find(s, 15, 3), &three);
	/* the gap is closed */
	slots_remove(&s, 7, &one);
	assert_ptr_equal(find(s, 7, 2), &two);
	assert_ptr_equal(find(s, 15, 3), &three);
	slots_remove(&s, 7, &two);
	slots_remove(&s, 15, &three);
	assert_null(s);
}

static uint32_t hash_of(int value)
{
	return (uint32_t)value * 2654435761u >> 24;	/* many collide */
}

/* All of which there is a note, and no other, are there. */
static void check(const struct slots *s, int *values, const bool *there)
{
	unsigned count = 0, at = 0;

	for (int i = 0; i < ITEMS; i++) {
		assert_ptr_equal(find(s, hash_of(i), i),
		    there[i] ? &values[i] : NULL);
		count += there[i];
	}
	assert_int_equal(slots_count(s), count);
	for (const int *v; (v = slots_next(s, &at)) != NULL; count--)
		assert_true(there[v - values]);
	assert_int_equal(count, 0);
}

static void test_many_come_and_go(void **state)
{
	static int values[ITEMS];
	static bool there[ITEMS];
	struct slots *s = NULL;

	(void)state;
	srand(3);
	for (int i = 0; i < ITEMS; i++)
		values[i] = i;
	for (int step = 0; step < 20000; step++) {
		const int i = rand() % ITEMS;
		/* now many, now few */
		const bool add = rand() % 100 < (step / 2000 % 2 ? 20 : 80);

		if (add && !there[i])
			assert_int_equal(slots_add(&s, hash_of(i), &values[i]),
			    0);
		else if (!add && there[i])
			slots_remove(&s, hash_of(i), &values[i]);
		there[i] = add;
		if (step % 100 == 0)
			check(s, values, there);
	}
	for (int i = 0; i < ITEMS; i++)
		if (there[i])
			slots_remove(&s, hash_of(i), &values[i]);
	assert_null(s);
}

static void test_without_memory_nothing_is_lost(void **state)
{
	int values[6] = { 0, 1, 2, 3, 4, 5 }, more = 6;
	struct slots *s = NULL;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(slots_add(&s, 1, &more), -1);
	assert_null(s);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(slots_add(&s, i, &values[i]), 0);
	mem_fail_at(1);
	assert_int_equal(slots_add(&s, 6, &more), -1);
	mem_fail_at(0);
	assert_int_equal(slots_count(s), 6);
	assert_int_equal(slots_add(&s, 6, &more), 0);
	assert_ptr_equal(find(s, 6, 6), &more);
	for (unsigned i = 0; i < 6; i++) {
		assert_ptr_equal(find(s, i, (int)i), &values[i]);
		slots_remove(&s, i, &values[i]);
	}
	slots_remove(&s, 6, &more);
	assert_null(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_one_has_nothing),
		cmocka_unit_test(test_same_hash_is_not_the_same),
		cmocka_unit_test(test_many_come_and_go),
		cmocka_unit_test(test_without_memory_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
