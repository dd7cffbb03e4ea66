/* test_intern.c - one copy of each string.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/mem.h"

static void test_equal_strings_are_one(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	char copy[] = "shop";
	const char *a = intern_get(t, "shop"), *b = intern_get(t, copy);

	assert_string_equal(a, "shop");
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, copy);
	intern_put(t, a);
	assert_string_equal(b, "shop");
	intern_put(t, b);
	intern_free(&t);
}

static void test_different_strings_differ(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	const char *a = intern_get(t, "shop"), *b = intern_get(t, "sho");
	const char *c = intern_get(t, "");

	assert_ptr_not_equal(a, b);
	assert_ptr_not_equal(b, c);
	assert_string_equal(c, "");
	intern_free(&t);
	assert_null(t);
	intern_free(&t);
}

static void test_string_lives_until_its_last_reference(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	const char *a = intern_get(t, "shop");

	assert_ptr_equal(intern_ref(a), a);
	intern_put(t, a);
	assert_ptr_equal(intern_get(t, "shop"), a);
	intern_put(t, a);
	intern_put(t, a);
	intern_put(t, NULL);
	intern_free(&t);
}

static void test_many_strings_are_found_again(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	const char *all[500];
	char name[16];

	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "user%d", i);
		all[i] = intern_get(t, name);
	}
	for (int i = 0; i < 500; i += 2)
		intern_put(t, all[i]);
	for (int i = 1; i < 500; i += 2) {
		snprintf(name, sizeof name, "user%d", i);
		assert_ptr_equal(intern_get(t, name), all[i]);
	}
	intern_free(&t);
}

/* Interns enough to make the table grow. False: an allocation failed. */
static bool fill(struct intern *t)
{
	char name[16];

	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "user%d", i);
		const char *s = intern_get(t, name);

		if (s == NULL)
			return false;
		assert_string_equal(s, name);
	}
	return true;
}

static void test_every_failed_allocation_is_survived(void **state)
{
	(void)state;

	bool complete = false;

	for (unsigned long nth = 1; !complete; nth++) {
		mem_fail_at(nth);
		struct intern *t = intern_new();

		complete = t != NULL && fill(t);
		const bool failed = mem_fail_at(0) >= nth;

		assert_int_equal(complete, !failed);
		if (t != NULL) /* and it works on */
			assert_true(fill(t));
		intern_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_strings_are_one),
		cmocka_unit_test(test_different_strings_differ),
		cmocka_unit_test(test_string_lives_until_its_last_reference),
		cmocka_unit_test(test_many_strings_are_found_again),
		cmocka_unit_test(test_every_failed_allocation_is_survived),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
