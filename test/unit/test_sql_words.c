/* test_sql_words.c - unit tests of words, and of those that change schemas.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/sql_words.h"

/* In memory of its own, so that nothing around it can be read. */
static bool may(const char *text)
{
	const size_t n = strlen(text);
	char *const copy = malloc(n + 1);

	assert_non_null(copy);
	memcpy(copy, text, n);
	char *const exact = realloc(copy, n > 0 ? n : 1);
	const bool yes = sql_may_change_schema(exact, n);

	free(exact);
	return yes;
}

static void test_words_are_seen(void **state)
{
	static const char *const yes[] = { "create table t ()", "CREATE",
	    "select 1;drop view v", "Alter\ttable", "import foreign schema s",
	    "select 1 into t", "select * INTO\ntemp t from u",
	    "with a as (select 1)select 1 into t", "into",
	    "select 'insert' into t", "insert /**/ into t", "create",
	    "do $$begin create table t (); end$$" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(may(yes[i]));
}

static void test_others_are_not(void **state)
{
	static const char *const no[] = { "", "i", "int", "creat", "select 1",
	    "insert into t values (1)", "INSERT\n\tINTO t", "Merge Into t",
	    "with a as (insert into t values (1) returning i) select * from a",
	    "select created, altered from pinto", "update t set a_create = 1",
	    "select dropped from t", "delete from t", "copy t from stdin" };

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(may(no[i]));
}

static void test_parameters_that_no_server_need_report(void **state)
{
	(void)state;
	assert_true(sql_is_unseen("Array_Nulls"));
	assert_true(sql_is_unseen("role"));
	assert_true(sql_is_unseen("search_path"));
	assert_false(sql_is_unseen("timezone"));
	assert_false(sql_is_unseen("option"));
	assert_false(sql_is_unseen("session_authorization"));
	assert_false(sql_is_unseen("array_null"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_seen),
		cmocka_unit_test(test_others_are_not),
		cmocka_unit_test(test_parameters_that_no_server_need_report),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
