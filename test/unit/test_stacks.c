/* test_stacks.c - folded stacks: sums, order, the end of memory.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ctl/stacks.h"

static void add(struct stacks *s, const char *text, uint64_t weight)
{
	assert_int_equal(stacks_add(s, text, weight), 0);
}

static void assert_written(const struct stacks *s, const char *want)
{
	char *text = NULL;
	size_t size = 0;
	FILE *const f = open_memstream(&text, &size);

	stacks_write(s, f);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

static void test_equal_stacks_are_added_up(void **state)
{
	struct stacks s = { 0 };

	(void)state;
	add(&s, "a;b", 2);
	add(&s, "a", 1);
	add(&s, "a;b", 3);
	assert_int_equal(s.weight, 6);
	assert_int_equal(s.times, 3);
	stacks_sort(&s);
	assert_written(&s, "a 1\na;b 5\n");
	assert_int_equal(s.all->times, 1);
	stacks_fini(&s);
	assert_written(&s, "");
}

static void test_sorted_stacks_are_a_tree_in_order(void **state)
{
	struct stacks s = { 0 };

	(void)state;
	add(&s, "a2;x", 1);
	add(&s, "a;z", 1);
	add(&s, "a2", 1);
	add(&s, "a", 1);
	add(&s, "a;b c;d", 1);
	add(&s, "a;b;d", 1);
	add(&s, "\xc3\xa4", 1);
	stacks_sort(&s);
	assert_written(&s, "a 1\na;b;d 1\na;b c;d 1\na;z 1\na2 1\na2;x 1\n"
	    "\xc3\xa4 1\n");
	stacks_fini(&s);
}

static void test_leaf_is_the_innermost(void **state)
{
	static const struct {
		const char *stack, *leaf, *outside;
	} rows[] = {
		{ "main;loop;recv", "recv", "recv" },
		{ "main", "main", "main" },
		{ "main;libc:recv;kernel:a;kernel:b", "kernel:b", "libc:recv" },
		{ "kernel:a;kernel:b", "kernel:b", "kernel:a" },
		{ "a;a_name_that_is_long", "a_name_that_is_", "a_name_that_is_" },
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct stacks s = { 0 };

		add(&s, rows[i].stack, 1);
		assert_string_equal(stack_leaf(s.all, false, buf, sizeof buf),
		    rows[i].leaf);
		assert_string_equal(stack_leaf(s.all, true, buf, sizeof buf),
		    rows[i].outside);
		stacks_fini(&s);
	}
}

static void test_what_is_beyond_the_cap_is_counted_only(void **state)
{
	struct stacks s = { 0 };
	char name[16];

	(void)state;
	for (int i = 0; i < STACKS_MAX + 5; i++) {
		snprintf(name, sizeof name, "f%d", i);
		add(&s, name, 2);
	}
	add(&s, "f3", 1);
	assert_int_equal(HASH_COUNT(s.all), STACKS_MAX);
	assert_int_equal(s.homeless, 10);
	assert_int_equal(s.weight, (STACKS_MAX + 5) * 2 + 1);
	stacks_fini(&s);
}

static void test_each_allocation_may_fail(void **state)
{
	int rc = -1;

	(void)state;
	for (unsigned long n = 1; rc != 0; n++) {
		struct stacks s = { 0 };

		mem_fail_at(n);
		rc = stacks_add(&s, "a;b", 1);
		mem_fail_at(0);
		assert_int_equal(HASH_COUNT(s.all), rc == 0 ? 1 : 0);
		stacks_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_stacks_are_added_up),
		cmocka_unit_test(test_sorted_stacks_are_a_tree_in_order),
		cmocka_unit_test(test_leaf_is_the_innermost),
		cmocka_unit_test(test_what_is_beyond_the_cap_is_counted_only),
		cmocka_unit_test(test_each_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
