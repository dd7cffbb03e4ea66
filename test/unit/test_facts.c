/* test_facts.c - the list that configurations are read into.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "ctl/facts.h"

#define A_B "a" FACT_SEP "b"

static int add(struct facts *f, char *scope, char *key, char *value)
{
	const struct fact one = { scope, key, value, 7 };
	struct err e;

	return facts_add(f, &one, &e);
}

static void test_the_first_of_its_name_is_found(void **state)
{
	struct facts f = { 0 };

	(void)state;
	assert_int_equal(add(&f, A_B, "k", "one"), 0);
	assert_int_equal(add(&f, A_B, "k", "two"), 0);
	assert_string_equal(facts_get(&f, A_B, "k")->value, "one");
	assert_int_equal(facts_get(&f, A_B, "k")->line, 7);
	assert_null(facts_get(&f, "a", "k"));
	facts_fini(&f);
}

static void test_control_bytes_are_refused(void **state)
{
	struct facts f = { 0 };

	(void)state;
	assert_int_equal(add(&f, "a", "k", "one\n[users]"), -1);
	assert_int_equal(add(&f, "a", A_B, "v"), -1);
	assert_int_equal(add(&f, "a\n", "k", "v"), -1);
	assert_int_equal(f.count, 0);
	facts_fini(&f);
}

static void test_scopes_fit_patterns_word_by_word(void **state)
{
	(void)state;
	assert_true(facts_scope_fits("", ""));
	assert_true(facts_scope_fits(A_B, A_B));
	assert_true(facts_scope_fits(A_B, "a" FACT_SEP "*"));
	assert_true(facts_scope_fits(A_B, "*" FACT_SEP "b"));
	assert_false(facts_scope_fits(A_B, "a"));
	assert_false(facts_scope_fits("a", A_B));
	assert_false(facts_scope_fits("a", "a" FACT_SEP "*"));
	assert_false(facts_scope_fits("ab", "a"));
	assert_false(facts_scope_fits("", "*"));
}

static void test_words_are_taken_out(void **state)
{
	char buf[8];

	(void)state;
	assert_string_equal(facts_word(A_B, 0, buf, sizeof buf), "a");
	assert_string_equal(facts_word(A_B, 1, buf, sizeof buf), "b");
	assert_string_equal(facts_word(A_B, 2, buf, sizeof buf), "");
}

static void test_want_of_memory_keeps_nothing(void **state)
{
	(void)state;
	for (unsigned long n = 1; n <= 4; n++) {
		struct facts f = { 0 };

		mem_fail_at(n);
		assert_int_equal(add(&f, "a", "k", "v"), -1);
		mem_fail_at(0);
		assert_int_equal(f.count, 0);
		facts_fini(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_of_its_name_is_found),
		cmocka_unit_test(test_control_bytes_are_refused),
		cmocka_unit_test(test_scopes_fit_patterns_word_by_word),
		cmocka_unit_test(test_words_are_taken_out),
		cmocka_unit_test(test_want_of_memory_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
