/* test_sql_dialect.c - unit tests of what a text means by settings.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/sql_dialect.h"

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

static void test_what_is_momentary(void **state)
{
	static const char *const yes[] = { "select 'now'::timestamptz",
		"select ' NOW '", "select date 'today'", "select 'tomorrow 04:05'",
		"select now(), 'yesterday'", "select $$now$$", "select $a$x now$a$",
		"-- don't\nselect 'now'", "select 'now_'", "select 'today10:00'",
		"select 'n'\n'ow'", "select 'n' -- x\n 'ow'", "select 'n'/**/'ow'",
		"select E'no\\x77'", "select U&'\\006eow'", "select 'n\\157w'",
		"select '{n\\ow}'", "select '[\"n\"ow,)'", "select '(now()'",
		"select '\\'', 'now'", "/* it's */ select 'now'",
		"select 1 as \"it's\", 'now'", "select E'\\'', 'now'",
		"select 'a'::regrole::oid", NULL };
	static const char *const no[] = { "select now()", "select 'a', now()",
		"select today from t", "select 'snow'", "select $1, now()", "",
		"select 'it''s'", "select a as e, 'b'", "select today, 'a'",
		"select 'a'::regclass", "select a & b, 'c'", "select 'a', 'b'",
		"select '{\"a\": 1}'::jsonb", "select '%_\\%'", "-- now\nselect 'a'",
		"select 1 as \"now\", 'a'", "select 'x", NULL };

	(void)state;
	check(sql_is_momentary, yes, true);
	check(sql_is_momentary, no, false);
}

static void test_words_that_may_set(void **state)
{
	static const char *const may[] = { "set timezone = 1", "reset all",
		"select Set_Config('datestyle', 'b', false)", "do $$ $$",
		"call p()", "execute s", "discard all", "select u&\"s\"",
		"/* a */ set time zone 'UTC'", "fetch 1 from c", "set names 'a'",
		"select 1; set local array_nulls = off", "SET\tRole a",
		"-- a\n(select 1); move c", "select set_config($1, $2, true)",
		"reset session authorization", "set xml option content", NULL };
	static const char *const end[] = { "commit", "rollback to a", "abort",
		"end", "/* a */ COMMIT", "select 1; rollback", NULL };
	static const char *const others[] = { "select 1", "begin",
		"select a from settings", "select offset_1", "select reset_a",
		"select dos", "", "selec", "/* set */ select 1",
		"update t set a = 1", "select case when a then b end",
		"select 'a; set b = 1'", "select u from u", "set work_mem = 1",
		"select set_config('my.tenant', $1, true)", "set my.a = 'b'",
		"discard temp", NULL };

	(void)state;
	check(sql_may_end, end, true);
	check(sql_may_end, may, false);
	check(sql_may_end, others, false);
	check(sql_may_set, may, true);
	check(sql_may_set, others, false);
}

static void test_names_of_what_no_report_tells(void **state)
{
	static const char *const unseen[] = { "set array_nulls = off",
		"set \"XMLOPTION\" to document",
		"select set_config('transform_null_equals', $1, true)",
		"set xml option document", "set local bytea_output = hex", NULL };
	static const char *const any[] = { "select set_config($1, $2, true)",
		"do $$ $$", "set local u&\"array\\005fnulls\" = off",
		"select set_config('a'||'b', 'c', true)",
		"select set_config('a.b', 'c', true), set_config($1, 'd', true)",
		NULL };
	static const char *const roles[] = { "set role a",
		"set session authorization b", "set local ROLE none",
		"select set_config('session_authorization', 'a', false)",
		NULL };
	static const char *const neither[] = { "set timezone = 'UTC'", "select 1",
		"select set_config('a.b', $1, true)",
		"insert into t values (1) on conflict do nothing",
		"select roles", "create table my_role (a int)", NULL };

	(void)state;
	check(sql_may_set_unseen, unseen, true);
	check(sql_may_set_unseen, roles, false);
	check(sql_may_set_unseen, neither, false);
	check(sql_may_set_unseen, any, true);
	check(sql_may_set_role, any, true);
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
		cmocka_unit_test(test_what_is_momentary),
		cmocka_unit_test(test_words_that_may_set),
		cmocka_unit_test(test_names_of_what_no_report_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
