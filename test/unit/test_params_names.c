/* test_params_names.c - DateStyle as PostgreSQL reads it.
 * SPDX-License-Identifier: ISC */
#include "proto/params_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_a_missing_half_stays(void **state)
{
	static const struct {
		const char *value, *have, *want;
	} cases[] = {
		{ "ISO", "SQL, DMY", "ISO, DMY" },
		{ "iso", "Postgres, MDY", "ISO, MDY" },
		{ "dmy", "ISO, MDY", "ISO, DMY" },
		{ " Sql ,\tymd ", "ISO, MDY", "SQL, YMD" },
		{ "European", "Postgres, MDY", "Postgres, DMY" },
		{ "us", "German, DMY", "German, MDY" },
		{ "NonEuropean,postgresql", "ISO, DMY", "Postgres, MDY" },
		{ "German", "ISO, MDY", "German, DMY" },
		{ "German, MDY", "ISO, YMD", "German, MDY" },
		{ "mdy, german", "ISO, YMD", "German, MDY" },
		{ "ISO, ISO, MDY, US", "SQL, DMY", "ISO, MDY" },
	};
	char out[DATESTYLE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(datestyle_complete(cases[i].value, cases[i].have,
		    out));
		assert_string_equal(out, cases[i].want);
	}
}

static void test_what_is_not_understood_is_left_alone(void **state)
{
	static const char *const no[] = { "", " ", ",", "ISO,", ",ISO",
		"ISO SQL", "ISO, SQL", "MDY, DMY", "german, iso", "default",
		"\"ISO\"", "isodate", "euros;", "postgre", "i" };
	char out[DATESTYLE_MAX] = "untouched";

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_int_equal(datestyle_complete(no[i], "ISO, MDY", out),
		    strcmp(no[i], "euros;") == 0);
	assert_false(datestyle_complete("ISO", "what", out));
	assert_false(datestyle_complete("ISO", "SQL", out));
	assert_string_equal(out, "ISO, DMY");
}

static void test_values_are_joined_whatever_they_lack(void **state)
{
	static const struct {
		const char *value, *have, *want;
	} cases[] = {
		{ "SQL", "German", "SQL, DMY" }, { "German", "SQL", "German, DMY" },
		{ "SQL", "ISO", "SQL" }, { "dmy", "mdy", "DMY" },
		{ "mdy", "German", "German, MDY" }, { "iso", "ymd", "ISO, YMD" },
	};
	char out[DATESTYLE_MAX] = "untouched";

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(datestyle_join(cases[i].value, cases[i].have, out));
		assert_string_equal(out, cases[i].want);
	}
	assert_false(datestyle_join("what", "ISO", out));
	assert_false(datestyle_join("ISO", "what", out));
	assert_string_equal(out, "ISO, YMD");
}

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
		cmocka_unit_test(test_values_are_joined_whatever_they_lack),
		cmocka_unit_test(test_a_missing_half_stays),
		cmocka_unit_test(test_what_is_not_understood_is_left_alone),
		cmocka_unit_test(test_spelling_is_of_no_matter),
		cmocka_unit_test(test_first_and_last_are_found),
		cmocka_unit_test(test_others_have_no_name),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
