/* test_sql_dialect.c - unit tests of what a text means by settings.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/sql_dialect.h"

typedef bool asks(const void *sql, size_t n);

/* In memory of its own, with a NUL or not, so that nothing around it is read. */
static bool ask(asks *fn, const char *text, size_t nul)
{
	const size_t n = strlen(text) + nul;
	char *const copy = malloc(n + 1);

	assert_non_null(copy);
	memcpy(copy, text, n);
	char *const exact = realloc(copy, n > 0 ? n : 1);
	const bool yes = fn(exact, n);

	assert_non_null(exact);
	free(exact);
	return yes;
}

static void check(asks *fn, const char *const *texts, bool want)
{
	for (; *texts != NULL; texts++) {
		if (ask(fn, *texts, 0) != want || ask(fn, *texts, 1) != want)
			fail_msg("%s", *texts);
	}
}

static void test_texts_without_literals_are_plain(void **state)
{
	static const char *const plain[] = { "", "select 1", "select $1, $23",
		"select \"a\" from t where b = 1.5e3 -- c",
		"insert into t values ($1, $2)", "select 123456789012345678", NULL };
	static const char *const others[] = { "select 'a'", "'", "select $$a$$",
		"select $a$b$a$", "select 1 as \"\\\"", "select 1 as é",
		"select 12345678 as \xe9", "select a$", "select $", "select '1'::date",
		"select $1, '", "12345678'", "1234567\\", NULL };

	(void)state;
	check(sql_is_plain, plain, true);
	check(sql_is_plain, others, false);
	/* types of parameters may have any byte */
	assert_true(sql_is_plain("select $1\0\0\1\xff\x27\0\\", 18));
}

static void test_clock_is_read_within_quotes(void **state)
{
	static const char *const reads[] = { "select 'now'::timestamptz",
		"select ' NOW '", "select date 'today'", "select 'tomorrow 04:05'",
		"select now(), 'yesterday'", "select $$now$$",
		"select 'it''s now'", "select now(), $a$1$a$", NULL };
	static const char *const others[] = { "select now()", "select 'a', now()",
		"select today from t where a = 'b'", "select 'nowhere'",
		"select 'snow'", "select $1, now()", "", NULL };

	(void)state;
	check(sql_reads_clock, reads, true);
	check(sql_reads_clock, others, false);
}

static void test_words_that_may_set(void **state)
{
	static const char *const may[] = { "set a = 1", "SET\ta", "reset all",
		"select Set_Config('a', 'b', false)", "do $$ $$", "call p()",
		"execute s", "discard all", "commit", "rollback to a", "abort",
		"end", "select u&\"s\"", "/* set */", NULL };
	static const char *const others[] = { "select 1", "begin",
		"select a from settings", "select offset_1", "select reset_a",
		"select dos", "", "selec", NULL };

	(void)state;
	check(sql_may_set, may, true);
	check(sql_may_set, others, false);
}

static void test_names_of_what_no_report_tells(void **state)
{
	static const char *const unseen[] = { "set array_nulls = off",
		"set \"XMLOPTION\" to document",
		"select set_config('transform_null_equals', $1, true)", NULL };
	static const char *const roles[] = { "set role a",
		"set session authorization b", "set local ROLE none",
		"select set_config('session_authorization', 'a', false)", NULL };
	static const char *const neither[] = { "set timezone = 'UTC'", "select 1",
		"select roles", "create table my_role (a int)", NULL };

	(void)state;
	check(sql_may_set_unseen, unseen, true);
	check(sql_may_set_unseen, roles, false);
	check(sql_may_set_unseen, neither, false);
	check(sql_may_set_role, roles, true);
	check(sql_may_set_role, unseen, false);
	check(sql_may_set_role, neither, false);
	assert_true(ask(sql_may_set_all, "reset ALL", 0));
	assert_false(ask(sql_may_set_all, "reset all_x", 0));
	assert_true(sql_dialect_is_unseen("Array_Nulls"));
	assert_true(sql_dialect_is_unseen("role"));
	assert_false(sql_dialect_is_unseen("timezone"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_without_literals_are_plain),
		cmocka_unit_test(test_clock_is_read_within_quotes),
		cmocka_unit_test(test_words_that_may_set),
		cmocka_unit_test(test_names_of_what_no_report_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
