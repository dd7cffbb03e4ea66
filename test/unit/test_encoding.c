/* test_encoding.c - names of character sets.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/encoding.h"

static void test_spelling_is_of_no_matter(void **state)
{
	static const char *const names[] = { "UTF8", "utf8", "UTF-8", "utf_8",
		"'utf-8'", " u t f 8", "unicode", "UniCode" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_string_equal(encoding_name(names[i]), "UTF8");
}

static void test_first_and_last_are_found(void **state)
{
	(void)state;
	assert_string_equal(encoding_name("ABC"), "WIN1258");
	assert_string_equal(encoding_name("Windows-950"), "BIG5");
	assert_string_equal(encoding_name("ISO-8859-15"), "LATIN9");
	assert_string_equal(encoding_name("sql_ascii"), "SQL_ASCII");
}

static void test_others_have_no_name(void **state)
{
	static const char *const names[] = { "", "-", "utf", "utf88", "utf16",
		"latin11", "utf\xc3\xa4" "8x", "windows950000000000000000000000000",
		"zzz", "a" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_null(encoding_name(names[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spelling_is_of_no_matter),
		cmocka_unit_test(test_first_and_last_are_found),
		cmocka_unit_test(test_others_have_no_name),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
