/* test_sql_seen.c - unit tests of texts that are known to leave nothing.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sql/effects.h"
#include "sql/sql_seen.h"

static struct sql_seen seen;

static bool is_plain(const char *sql)
{
	return sql_seen_is_plain(&seen, sql, strlen(sql) + 1);
}

static void test_what_matters_is_never_plain(void **state)
{
	static const char *const texts[] = { "set work_mem = 1",
	    "reset work_mem", "discard all", "select 1; set work_mem = 1",
	    "select set_config('a.b', 'c', false)",
	    "create temp table t as select 1", "set a" };

	(void)state;
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			assert_false(is_plain(texts[i]));
}

static void test_text_is_plain_again_and_after_others(void **state)
{
	char text[64];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 1000; i++) {
			snprintf(text, sizeof text, "select %d from t", i);
			assert_true(is_plain(text));
			assert_true(is_plain(text));
		}
	}
}

/* One byte tells the two, wherever it stands. */
static void test_text_like_one_that_was_seen_is_looked_at(void **state)
{
	char text[64] = "select xemp, xemp, xemp, xemp, xemp, xemp, xemp from t";

	(void)state;
	for (char *at = text; (at = strstr(at, "xemp")) != NULL; at++) {
		assert_true(is_plain(text));
		*at = 't';
		assert_false(is_plain(text));
		*at = 'x';
	}
}

/* Behind the longest that is kept, and in those that are too short. */
static void test_length_is_of_no_matter(void **state)
{
	char text[2 * SQL_SEEN_MAX];

	(void)state;
	for (size_t n = 1; n < sizeof text; n++) {
		memset(text, 'x', n);
		text[n - 1] = '\0';
		assert_true(is_plain(text));
		assert_true(is_plain(text));
		if (n < 5)
			continue;
		memcpy(text + n - 5, "temp", 4);
		if (n > 5)
			text[n - 6] = ' ';
		assert_false(is_plain(text));
	}
}

/* Of a Parse, types of parameters are behind the text. */
static void test_what_is_behind_the_text_is_none_of_it(void **state)
{
	static const char good[] = "select 1\0\1\0\0\0\x17";
	static const char bad[] = "set a = 1\0\0";

	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		assert_true(sql_seen_is_plain(&seen, good, sizeof good));
		assert_false(sql_seen_is_plain(&seen, bad, sizeof bad));
	}
	assert_true(sql_seen_is_plain(&seen, "", 1));
	assert_true(sql_seen_is_plain(&seen, "", 0));
}

/* Whether it was only glanced at before, or is too long to be kept. */
static void test_effects_are_those_of_the_text(void **state)
{
	static char text[2 * SQL_SEEN_MAX];

	(void)state;
	for (size_t n = 1; n < sizeof text - 16; n++) {
		memset(text, 'x', n);
		memcpy(text + n, "(set role a)", sizeof "(set role a)");
		const size_t len = strlen(text) + 1;

		(void)sql_seen_is_plain(&seen, text, len);
		for (int twice = 0; twice < 2; twice++)
			assert_int_equal(sql_seen_effects(&seen, text, len),
			    sql_effects(text, len));
		assert_true(sql_seen_effects(&seen, text, len) & EFFECT_ROLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_matters_is_never_plain),
		cmocka_unit_test(test_text_is_plain_again_and_after_others),
		cmocka_unit_test(test_text_like_one_that_was_seen_is_looked_at),
		cmocka_unit_test(test_length_is_of_no_matter),
		cmocka_unit_test(test_what_is_behind_the_text_is_none_of_it),
		cmocka_unit_test(test_effects_are_those_of_the_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
