/* test_custom.c - unit tests of the names of custom parameters.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/custom.h"

static struct custom known;

static int teardown(void **state)
{
	(void)state;
	custom_fini(&known);
	return 0;
}

static bool learn(const char *sql)
{
	return custom_learn(&known, sql, strlen(sql) + 1);
}

/* The names of a text, with blanks between. */
static const char *names(const char *sql)
{
	static char out[256];
	const char *name;
	unsigned at = 0;

	custom_fini(&known);
	assert_true(learn(sql));
	out[0] = '\0';
	while ((name = custom_next(&known, &at)) != NULL)
		snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s",
		    out[0] == '\0' ? "" : " ", name);
	return out;
}

static void test_names_are_learned(void **state)
{
	(void)state;
	assert_string_equal(names("set my.own = 1"), "my.own");
	assert_string_equal(names("SET SESSION a.b.c TO 'x'"), "a.b.c");
	assert_string_equal(names("set local App.User='x'; set b.c to d"),
	    "app.user b.c");
	assert_string_equal(names("select set_config('my.own', $1, false)"),
	    "my.own");
	assert_string_equal(names("select set_config ( 'a.b','', true), "
	    "pg_catalog.SET_CONFIG('c.d', 'x', false)"), "a.b c.d");
	assert_string_equal(names("set a.b = 1; set a.b = 2"), "a.b");
	assert_string_equal(names("set session.a = 1; set local.b to 2"),
	    "session.a local.b");
	assert_string_equal(names("set local session.a = 1"), "session.a");
}

static void test_others_are_not(void **state)
{
	(void)state;
	assert_string_equal(names("set work_mem = '1MB'"), "");
	assert_string_equal(names("select set_config('work_mem', 'x', false)"),
	    "");
	assert_string_equal(names("update t set a = 1 where b.c = 2"), "");
	assert_string_equal(names("select a.b from reset.set_x"), "");
	assert_string_equal(names("update t set (a, b) = (1, 2)"), "");
	assert_string_equal(names("set time zone 'UTC'; set role none"), "");
	assert_string_equal(names("set session characteristics as transaction "
	    "read only"), "");
}

static bool any(const char *sql)
{
	return custom_is_any(sql, strlen(sql) + 1);
}

static void test_texts_to_look_at_are_told_from_others(void **state)
{
	(void)state;
	assert_true(any("set a.b = 1"));
	assert_true(any("select 1, set_config('a.b', $1, false)"));
	assert_true(any("select U&\"set\\005fconfig\"('a.b', '1', false)"));
	assert_true(any("update t set a = 1"));
	assert_false(any("delete from settings where reset = 'x'"));
	assert_false(any("discard temp"));
	assert_false(any("set"));
	assert_false(any(""));
}

static void test_what_cannot_be_seen_is_told(void **state)
{
	(void)state;
	assert_false(learn("select set_config($1, $2, false)"));
	assert_false(learn("select set_config('a' || '.b', '1', false)"));
	assert_false(learn("select set_config(E'a.b', '1', false)"));
	assert_false(learn("set \"a\".b = 1"));
	assert_false(learn("set a.\"b\" = 1"));
	assert_false(learn("set a . b = 1"));
	assert_false(learn("set /* c */ a.b = 1"));
	assert_false(learn("set -- c\n a.b = 1"));
	assert_false(learn("set session/**/a.b = 1"));
	assert_false(learn("set a/**/.b = 1"));
	assert_false(learn("set session . b = 1"));
	assert_false(learn("set U&\"a\".b = 1"));
	assert_false(learn("set a.\xc3\xa9 = 1"));
	assert_false(learn("set a\xc3\xa9.b = 1"));
	assert_false(learn("set a.b\xc3\xa9 = 1"));
	assert_false(learn("select \"set_config\"('a.b', '1', false)"));
	assert_false(learn("select set_config/**/('a.b', '1', false)"));
	assert_false(learn("select U&\"set\\005fconfig\"('a.b', '', false)"));
}

static void test_there_is_an_end(void **state)
{
	char sql[64];

	(void)state;
	custom_fini(&known);
	for (int i = 0; i < CUSTOM_MAX; i++) {
		snprintf(sql, sizeof sql, "set a.b%d = 1", i);
		assert_true(learn(sql));
	}
	assert_false(learn("set a.c = 1"));
	assert_true(learn("set a.b7 = 1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_learned),
		cmocka_unit_test(test_others_are_not),
		cmocka_unit_test(test_texts_to_look_at_are_told_from_others),
		cmocka_unit_test(test_what_cannot_be_seen_is_told),
		cmocka_unit_test(test_there_is_an_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, teardown);
}
