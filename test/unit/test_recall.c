/* test_recall.c - texts of SETs, and what they left.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/baggage.h"
#include "proto/recall.h"

static int count(const char *sql)
{
	return recall_count(sql, strlen(sql) + 1);
}

static void test_texts_whose_effect_is_known(void **state)
{
	(void)state;
	assert_int_equal(count("set work_mem = '1MB'"), 1);
	assert_int_equal(count("SET SESSION search_path TO \"$user\", a;"), 1);
	assert_int_equal(count("set statement_timeout=0; set work_mem to '2'"),
	    2);
	assert_int_equal(count("SET SESSION CHARACTERISTICS AS TRANSACTION "
	    "ISOLATION LEVEL SERIALIZABLE"), 1);
	assert_int_equal(count("SELECT pg_advisory_unlock_all();\nCLOSE ALL;\n"
	    "UNLISTEN *;\nRESET ALL;"), 1);
	assert_int_equal(count("reset work_mem ;;"), 1);
	assert_int_equal(count("set a = 'x;y''z'"), 1);
	assert_int_equal(count(""), 0);
}

static void test_texts_whose_effect_is_not(void **state)
{
	static const char *const texts[] = {
		"set local work_mem = 1", "set transaction read only",
		"set role r", "set session authorization r", "reset role",
		"reset session authorization", "set my.own = 1", "set a.b to 1",
		"set \"a\" = 1", "set time zone 'UTC'", "set seed to 1",
		"set default_text_search_config = a",
		"set work_mem from current", "set x = E'\\x41'",
		"set x = U&'a'", "set x = $$a$$", "set x -- y\n = 1",
		"set /* x */ y = 1", "set x = 'open", "select 1", "reset",
		"set x", "set x 1", "setx = 1", "reset all; select 1",
		"select pg_advisory_unlock_all(), 1", "close all x", "begin",
		"set caf\xc3\xa9 = 1", "reset all all", "set constraints all",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(count(texts[i]), -1);
	assert_int_equal(recall_count("set a = 1", 9), -1);
	assert_int_equal(recall_count("", 0), -1);
	assert_int_equal(recall_count("set a = 1\0;", 11), -1);
}

static void test_what_was_learned_is_known(void **state)
{
	static struct recall t;
	struct baggage_table *table = baggage_table_new();
	struct baggage *none = baggage_empty(table);
	struct baggage *one = baggage_get(table, "a\0001\0", 4);
	struct recall_key k = { .had = none, .len = 2, .text = "x" };

	(void)state;
	assert_null(recall_find(&t, &k));
	recall_learn(&t, &k, one);
	assert_ptr_equal(recall_find(&t, &k), one);
	k.silent = 1;
	assert_null(recall_find(&t, &k));
	k.silent = 0;
	k.brought = one;
	assert_null(recall_find(&t, &k));
	recall_learn(&t, &k, none);
	assert_ptr_equal(recall_find(&t, &k), none);
	recall_fini(&t);
	baggage_unref(&none);
	baggage_unref(&one);
	baggage_table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_whose_effect_is_known),
		cmocka_unit_test(test_texts_whose_effect_is_not),
		cmocka_unit_test(test_what_was_learned_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
