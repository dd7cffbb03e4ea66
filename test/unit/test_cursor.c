/* test_cursor.c - lists that change while they are walked.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cursor.h"

static struct cursor_list list;
static struct cursor_node n[6];

static int setup(void **state)
{
	(void)state;
	list = (struct cursor_list){ .first = NULL };
	for (int i = 0; i < 6; i++) {
		n[i] = (struct cursor_node){ .prev = NULL };
		if (i < 4)
			cursor_list_add(&list, &n[i]);
	}
	return 0;
}

static void test_walk_comes_to_each_once(void **state)
{
	struct cursor w;

	(void)state;
	cursor_begin(&w, &list);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(cursor_take(&w), &n[i]);
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
	assert_ptr_equal(cursor_take(&w), &n[0]);
	cursor_begin(&other, &list);
	cursor_list_remove(&list, &n[0]);
	cursor_list_remove(&list, &n[0]);
	cursor_list_remove(&list, &n[1]);
	cursor_list_add(&list, &n[4]);
	assert_ptr_equal(cursor_take(&w), &n[2]);
	cursor_list_remove(&list, &n[4]);
	cursor_list_remove(&list, &n[3]);
	cursor_list_add(&list, &n[5]);
	/* it was at the end when that came */
	assert_null(cursor_take(&w));
	assert_ptr_equal(cursor_take(&other), &n[2]);
	assert_ptr_equal(cursor_take(&other), &n[5]);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_walk_comes_to_each_once, setup),
		cmocka_unit_test_setup(
		    test_removed_is_not_come_to_and_added_comes_last, setup),
		cmocka_unit_test(test_empty_list_has_nothing_to_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
