/* test_close_reason.c - the table of reasons.
 * SPDX-License-Identifier: ISC */
#include "pool/close_reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_texts_are_unique_and_none_is_empty(void **state)
{
	(void)state;
	for (int i = CLOSE_NONE + 1; i < CLOSE_REASONS; i++) {
		const char *const text =
		    close_reason_text((enum close_reason)i);

		assert_non_null(text);
		assert_string_not_equal(text, "");
		for (int j = CLOSE_NONE + 1; j < i; j++)
			assert_string_not_equal(text,
			    close_reason_text((enum close_reason)j));
	}
}

static void test_codes_are_of_five_characters(void **state)
{
	(void)state;
	for (int i = CLOSE_NONE + 1; i < CLOSE_REASONS; i++) {
		const char *const code =
		    close_cause((enum close_reason)i).code;

		assert_true(code == NULL || strlen(code) == 5);
	}
}

static void test_cause_has_what_its_reason_says(void **state)
{
	const struct close_cause why = close_cause(CLOSE_OUT_OF_MEMORY);

	(void)state;
	assert_int_equal(why.reason, CLOSE_OUT_OF_MEMORY);
	assert_string_equal(why.text, "out of memory");
	assert_string_equal(why.code, ERRCODE_OUT_OF_MEMORY);
	assert_null(why.detail);
	assert_null(why.hint);
}

static void test_cause_of_an_error_has_its_text_and_code(void **state)
{
	const struct err e = { "28P01", "no" };
	const struct close_cause why = close_cause_err(CLOSE_LOGIN_REFUSED,
	    &e);

	(void)state;
	assert_int_equal(why.reason, CLOSE_LOGIN_REFUSED);
	assert_ptr_equal(why.text, e.text);
	assert_ptr_equal(why.code, e.code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_unique_and_none_is_empty),
		cmocka_unit_test(test_codes_are_of_five_characters),
		cmocka_unit_test(test_cause_has_what_its_reason_says),
		cmocka_unit_test(test_cause_of_an_error_has_its_text_and_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
