/* test_sql_timeless.c - texts that mean the same each time they are parsed.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sql/sql_timeless.h"

static bool is(const char *sql)
{
	return sql_is_timeless(sql, strlen(sql) + 1);
}

static void test_plain_texts_are(void **state)
{
	static const char *const yes[] = { "select 1", " SELECT $1::int",
		"Select a.b, 12.5 from \"A b\".t where c = $12",
		"insert into t values ($1, 'it''s', 'active')",
		"with x as (select 'a') select * from x",
		"update t set a = a + $1 where b = 'x' and c = ''",
		"delete from t where a = '' or b='a''b'", "values (1, 'a')",
		"select col1 from now_t where today = yesterday()",
		"select a - b, a / b * c from t" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(is(yes[i]));
}

static void test_literals_by_the_clock_are_not(void **state)
{
	static const char *const no[] = { "select 'now'::timestamptz",
		"select ' NoW '", "select 'xtodayx'", "select 'TOMORROW'",
		"select 'a' || 'yesterday'", "select 'current'",
		"select 'allballs'", "select '04:05'", "select 'a1'",
		"select 'no'\n'w'", "select 'no' 'w'", "select '''now'",
		"select e'n\\157w'", "select $$now$$", "select $a$now$a$",
		"select u&'n'", "select '" };

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(is(no[i]));
}

static void test_other_texts_are_not(void **state)
{
	static const char *const no[] = { "", " ", "show all", "set a = b",
		"create table t ()", "selec", "selects 1", "table t",
		"select 1 into t", "with a as (select 1) select * INTO t from a",
		"select 1 -- x", "/* x */ select 1", "select 1 /* x */",
		"select set_config($1, $2, true)", "select nextval($1)",
		"select * from pg_temp.t", "select a$b from t", "select \"a",
		"(select 1)" };
	char longer[200];

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(is(no[i]));
	/* no NUL, and what is behind it */
	assert_false(sql_is_timeless("select 1", 8));
	assert_false(sql_is_timeless(NULL, 0));
	assert_true(sql_is_timeless("select 1\0'now'", 15));
	snprintf(longer, sizeof longer, "select %063d", 0);
	assert_true(is(longer));
	snprintf(longer, sizeof longer, "select %064d", 0);
	assert_false(is(longer));
	snprintf(longer, sizeof longer, "select \"%064d\"", 0);
	assert_false(is(longer));
}

static void test_begin_is_known(void **state)
{
	static const char *const yes[] = { "BEGIN", "begin work",
		"START TRANSACTION READ ONLY" };
	static const char *const no[] = { "", "beginning", "commit",
		"begin; select 1", " begin", "end" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(sql_is_begin(yes[i], strlen(yes[i]) + 1));
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(sql_is_begin(no[i], strlen(no[i]) + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_texts_are),
		cmocka_unit_test(test_literals_by_the_clock_are_not),
		cmocka_unit_test(test_other_texts_are_not),
		cmocka_unit_test(test_begin_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
