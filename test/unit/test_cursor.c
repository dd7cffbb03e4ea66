/* test_cursor.c - lists that change while they are walked.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/container.h"
#include "base/cursor.h"

static struct cursor_list list;
static struct cursor_node nodes[6];

static int setup(void **state)
{
	(void)state;
	list = (struct cursor_list){ .first = NULL };
	for (int i = 0; i < 6; i++) {
		nodes[i] = (struct cursor_node){ .prev = NULL };
		if (i < 4)
			cursor_list_add(&list, &nodes[i]);
	}
	return 0;
}

static void test_walk_comes_to_each_once(void **state)
{
	struct cursor w;

	(void)state;
	cursor_begin(&w, &list);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(cursor_take(&w), &nodes[i]);
	assert_null(cursor_take(&w));
	cursor_end(&w);
	cursor_end(&w);
	assert_null(list.cursors);
}

static void test_removed_is_not_come_to_and_added_comes_last(void **state)
{
	struct cursor w, other;

	(void)state;
	cursor_begin(&w, &list);
	assert_ptr_equal(cursor_take(&w), &nodes[0]);
	cursor_begin(&other, &list);
	cursor_list_remove(&list, &nodes[0]);
	cursor_list_remove(&list, &nodes[0]);
	cursor_list_remove(&list, &nodes[1]);
	cursor_list_add(&list, &nodes[4]);
	assert_ptr_equal(cursor_take(&w), &nodes[2]);
	cursor_list_remove(&list, &nodes[4]);
	cursor_list_remove(&list, &nodes[3]);
	cursor_list_add(&list, &nodes[5]);
	/* it was at the end when that came */
	assert_null(cursor_take(&w));
	assert_ptr_equal(cursor_take(&other), &nodes[2]);
	assert_ptr_equal(cursor_take(&other), &nodes[5]);
	cursor_end(&w);
	cursor_end(&other);
}

static void test_empty_list_has_nothing_to_walk(void **state)
{
	struct cursor_list empty = { .first = NULL };
	struct cursor w = { .list = NULL };

	(void)state;
	cursor_end(&w);
	cursor_begin(&w, &empty);
	assert_null(cursor_take(&w));
	cursor_end(&w);
}

/* --- in order --- */

static struct item {
	struct cursor_node node;
	int value;
} items[64];

static int value_of(const struct cursor_node *n)
{
	return container_of(n, struct item, node)->value;
}

static int compare(const struct cursor_node *a, const struct cursor_node *b)
{
	return value_of(a) - value_of(b);
}

static int setup_ordered(void **state)
{
	static const int values[] = { 30, 10, 40, 20 };

	(void)state;
	list = (struct cursor_list){ .compare = compare };
	for (int i = 0; i < 4; i++) {
		items[i] = (struct item){ .value = values[i] };
		cursor_list_add(&list, &items[i].node);
	}
	return 0;
}

static struct cursor_node *add(int i, int value)
{
	items[i] = (struct item){ .value = value };
	cursor_list_add(&list, &items[i].node);
	return &items[i].node;
}

static int take(struct cursor *w)
{
	struct cursor_node *const n = cursor_take(w);

	return n == NULL ? -1 : value_of(n);
}

static void test_walk_is_in_order(void **state)
{
	struct cursor w;

	(void)state;
	cursor_begin(&w, &list);
	for (int i = 1; i <= 4; i++)
		assert_int_equal(take(&w), 10 * i);
	assert_int_equal(take(&w), -1);
	cursor_end(&w);
}

static void test_added_waits_for_its_place(void **state)
{
	struct cursor w, other;

	(void)state;
	cursor_begin(&w, &list);
	assert_int_equal(take(&w), 10);
	add(4, 15);
	add(5, 25);
	add(6, 5);
	add(7, 45);
	assert_int_equal(take(&w), 20);
	cursor_begin(&other, &list);
	assert_int_equal(take(&w), 30);
	assert_int_equal(take(&w), 40);
	assert_int_equal(take(&w), 45);
	assert_int_equal(take(&w), -1);
	assert_int_equal(take(&other), 5);
	assert_int_equal(take(&other), 10);
	assert_int_equal(take(&other), 15);
	cursor_end(&w);
	cursor_end(&other);
}

static void test_made_anew_does_not_come_twice(void **state)
{
	struct cursor w, other;

	(void)state;
	cursor_begin(&w, &list);
	assert_int_equal(take(&w), 10);
	assert_int_equal(take(&w), 20);
	cursor_list_remove(&list, &items[1].node);
	cursor_list_remove(&list, &items[3].node);
	cursor_list_remove(&list, &items[0].node);
	add(4, 10);
	add(5, 30);
	cursor_begin(&other, &list);
	assert_int_equal(take(&other), 10);
	cursor_end(&other);
	assert_int_equal(take(&w), 40);
	assert_int_equal(take(&w), -1);
	cursor_end(&w);
}

static void test_added_ones_settle_once_they_are_many(void **state)
{
	struct cursor_list many = { .compare = compare };
	static struct item of[5000];
	int added = 0, most = 0;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		of[i] = (struct item){ .value = i * 7 % 5000 };
		cursor_list_add(&many, &of[i].node);
		cursor_list_settle(&many);
		added = many.unplaced == NULL ? 0 : added + 1;
		most = added > most ? added : most;
	}
	assert_in_range(most, 63, 5000 / 16);
	assert_int_equal(value_of(many.first), 0);
	assert_int_equal(many.count, 5000);
	for (int i = 0; i < 5000; i++)
		cursor_list_remove(&many, &of[i].node);
	assert_int_equal(many.count, 0);
	/* one that comes and goes */
	for (int i = 0; i < 200; i++) {
		cursor_list_add(&many, &of[0].node);
		cursor_list_settle(&many);
		cursor_list_remove(&many, &of[0].node);
	}
	assert_null(many.first);
	assert_null(many.unplaced);
}

static void test_those_without_a_place_may_go(void **state)
{
	struct cursor w;

	(void)state;
	cursor_list_arrange(&list);
	add(4, 15);
	add(5, 25);
	cursor_list_remove(&list, &items[4].node);
	cursor_list_remove(&list, &items[2].node);
	add(6, 12);
	cursor_list_remove(&list, &items[6].node);
	cursor_begin(&w, &list);
	assert_int_equal(take(&w), 10);
	assert_int_equal(take(&w), 20);
	assert_int_equal(take(&w), 25);
	assert_int_equal(take(&w), 30);
	assert_int_equal(take(&w), -1);
	cursor_end(&w);
	for (struct cursor_node *n; (n = list.first) != NULL;)
		cursor_list_remove(&list, n);
	add(4, 15);
	cursor_list_remove(&list, &items[4].node);
	assert_null(list.unplaced);
	cursor_begin(&w, &list);
	assert_int_equal(take(&w), -1);
	cursor_end(&w);
}

/* Each walk: in order, no value twice, none left out that stays. */
static void test_many_changes_leave_each_walk_in_order(void **state)
{
	struct cursor walks[4] = { { .list = NULL } };
	int last[4] = { 0 };
	unsigned seed = 1;

	(void)state;
	list = (struct cursor_list){ .compare = compare };
	memset(items, 0, sizeof items);
	for (int step = 0; step < 20000; step++) {
		seed = seed * 1103515245 + 12345;
		const int i = seed >> 16 & 63, k = seed >> 22 & 3;

		if ((seed >> 24 & 3) == 0) {
			if (items[i].node.prev == NULL)
				add(i, i + 1);
			else
				cursor_list_remove(&list, &items[i].node);
			continue;
		}
		if (walks[k].list == NULL) {
			cursor_begin(&walks[k], &list);
			last[k] = 0;
		}
		const int value = take(&walks[k]);

		if (value < 0)
			cursor_end(&walks[k]);
		else
			assert_true(value > last[k]);
		last[k] = value;
	}
	for (int k = 0; k < 4; k++)
		cursor_end(&walks[k]);
	int count = 0, there = 0;

	for (int i = 0; i < 64; i++)
		there += items[i].node.prev != NULL;
	cursor_begin(&walks[0], &list);
	while (take(&walks[0]) > 0)
		count++;
	assert_int_equal(count, there);
	cursor_end(&walks[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_walk_comes_to_each_once, setup),
		cmocka_unit_test_setup(
		    test_removed_is_not_come_to_and_added_comes_last, setup),
		cmocka_unit_test(test_empty_list_has_nothing_to_walk),
		cmocka_unit_test_setup(test_walk_is_in_order, setup_ordered),
		cmocka_unit_test_setup(test_added_waits_for_its_place,
		    setup_ordered),
		cmocka_unit_test_setup(test_made_anew_does_not_come_twice,
		    setup_ordered),
		cmocka_unit_test_setup(test_added_ones_settle_once_they_are_many,
		    setup_ordered),
		cmocka_unit_test_setup(test_those_without_a_place_may_go,
		    setup_ordered),
		cmocka_unit_test(test_many_changes_leave_each_walk_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
