/* test_err.c - errors are worded, cut and prefixed.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_set_fills_code_and_text(void **state)
{
	(void)state;

	struct err e;

	assert_int_equal(err_set(&e, "08P01", "bad length %u", 7u), -1);
	assert_string_equal(e.code, "08P01");
	assert_string_equal(e.text, "bad length 7");
}

static void test_null_error_is_accepted(void **state)
{
	(void)state;

	assert_int_equal(err_set(NULL, "08P01", "%s", "x"), -1);
	assert_int_equal(err_prepend(NULL, "%s", "x"), -1);
}

static void test_long_text_is_cut_at_the_field(void **state)
{
	(void)state;

	struct err e;
	char longer[2000];

	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	err_set(&e, "123456789", "%s", longer);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	assert_string_equal(e.code, "12345");
}

static void test_prepend_keeps_code_and_old_text(void **state)
{
	(void)state;

	struct err e;

	err_set(&e, "F0000", "no such file");
	assert_int_equal(err_prepend(&e, "%s:%d: ", "a.ini", 3), -1);
	assert_string_equal(e.code, "F0000");
	assert_string_equal(e.text, "a.ini:3: no such file");
}

static void test_prepend_cuts_the_old_text(void **state)
{
	(void)state;

	struct err e;
	char longer[sizeof e.text];

	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	err_set(&e, "08P01", "%s", longer);
	err_prepend(&e, "bb");
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	assert_memory_equal(e.text, "bba", 3);
}

static void test_an_argument_may_be_the_old_text(void **state)
{
	(void)state;

	struct err e;

	err_set(&e, "28P01", "inner");
	err_set(&e, e.code, "outer (%s)", e.text);
	assert_string_equal(e.code, "28P01");
	assert_string_equal(e.text, "outer (inner)");
}

static void test_no_memory_is_known_again(void **state)
{
	(void)state;

	struct err e;

	assert_int_equal(err_nomem(&e), -1);
	assert_true(err_is_nomem(&e));
	assert_string_equal(e.code, "53200");
	assert_string_equal(e.text, "out of memory");
	assert_int_equal(err_nomem(NULL), -1);
	err_set(&e, "53300", "out of memory");
	assert_false(err_is_nomem(&e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_fills_code_and_text),
		cmocka_unit_test(test_null_error_is_accepted),
		cmocka_unit_test(test_long_text_is_cut_at_the_field),
		cmocka_unit_test(test_prepend_keeps_code_and_old_text),
		cmocka_unit_test(test_prepend_cuts_the_old_text),
		cmocka_unit_test(test_an_argument_may_be_the_old_text),
		cmocka_unit_test(test_no_memory_is_known_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
