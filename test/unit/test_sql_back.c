/* test_sql_back.c - which parameters a text may give their defaults back.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/params.h"
#include "proto/sql_back.h"
#include "sql/effects.h"

#define APP (UINT64_C(1) << PARAMS_APPLICATION_NAME)
#define STYLE (UINT64_C(1) << PARAMS_DATESTYLE)
#define ALL SQL_BACK_ALL

/* No formats; three values: "DateStyle", NULL and a binary false; no result formats. */
static const uint8_t values[] = "\0\0\0\3\0\0\0\11DateStyle\377\377\377\377"
    "\0\0\0\1\0\0";

static struct sql_back read_text(const char *sql, const void *bind, size_t n)
{
	struct params_table *t = params_table_new(NULL);
	struct sql_back b = { .names = t, .values = bind, .len = n };

	assert_non_null(t);
	sql_back_read(&b, sql, strlen(sql) + 1);
	if (b.back != 0 || b.set != 0)
		assert_true(sql_effects(sql, strlen(sql) + 1) & EFFECTS_BACK);
	params_table_free(&t);
	return b;
}

static void test_what_may_come_back_is_named(void **state)
{
	static const struct {
		const char *sql;
		uint64_t back, set;
	} rows[] = {
		{ "select 1", 0, 0 }, { "reset datestyle", STYLE, 0 },
		{ "set datestyle to default; set application_name = 'x'",
		STYLE, APP }, { "discard all", ALL, 0 },
		{ "reset datestyle; set datestyle to iso", 0, STYLE },
		{ "select set_config('datestyle', null, false)", STYLE, 0 },
		{ "select SET_CONFIG ( E'datestyle'::text, ((null)), 'f')",
		STYLE, 0 }, { "select \"set_config\"('datestyle', null, $3)",
		STYLE, 0 }, { "select set_config/**/('datestyle', null, f)",
		STYLE, 0 }, { "select set_config(/* a */ 'my.a', -- b\n 'x', "
		"false)", 0, 0 }, { "select set_config($n$datestyle$n$, null, "
		"false)", STYLE, 0 }, { "select set_config($n$my.a$n$, $$x$$, "
		"false)", 0, 0 }, { "select set_config(U&'datestyle', null, "
		"false)", STYLE, 0 }, { "select set_config('datestyle', null, true)", 0, 0 },
		{ "select set_config('datestyle', 'iso', false)", 0, 0 },
		{ "select set_config('datestyle', x.y, false)", STYLE, 0 },
		{ "select set_config(name, 'x', false) from a", 0, 0 },
		{ "select set_config(a.name, null, false) from a", ALL, 0 },
		{ "select set_config($$a$$, null, false)", 0, 0 },
		{ "select set_config($a, null, false)", ALL, 0 },
		{ "select set_config('a\\b', null, false)", ALL, 0 },
		{ "select set_config(f(1, 2), 'x', false)", ALL, 0 },
		{ "select set_config(setting_name => 'datestyle', new_value"
		" => null, is_local => false)", STYLE, 0 },
		{ "select set_config('my.own', null, false)", 0, 0 },
		{ "select set_config('', null, false)", 0, 0 },
		{ "select reset_config('datestyle', null, 'set_config')", 0, 0 },
		{ "select set_config(", ALL, 0 }, { "select set_config('", ALL, 0 },
		{ "select set_config", 0, 0 }, { "select set_config('a", ALL, 0 },
		{ "do $$ begin reset datestyle; set datestyle to x; end $$",
		STYLE, 0 }, { "do 'begin set application_name to default; end'",
		APP, 0 }, { "do $$ begin set local datestyle to default; end $$",
		0, 0 }, { "select 'do $$ begin reset datestyle; end $$'", 0, 0 },
		{ "do $$ begin execute 'reset all'; end $$", ALL, 0 },
		{ "do 'begin perform set_config(''datestyle'', null, false);"
		" end'", STYLE, 0 },
		{ "select set_config('datestyle', ''null, false)", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sql_back b = read_text(rows[i].sql, NULL, 0);

		if (b.back != rows[i].back || b.set != rows[i].set)
			print_message("%s: %llx %llx\n", rows[i].sql,
			    (unsigned long long)b.back,
			    (unsigned long long)b.set);
		assert_true(b.back == rows[i].back);
		assert_true(b.set == rows[i].set);
	}
}

static void test_a_bind_has_names_and_nulls(void **state)
{
	static const struct {
		const char *sql;
		uint64_t back;
	} rows[] = {
		{ "select set_config($1, $2, false)", STYLE },
		{ "select set_config($1, $1, false)", 0 },
		{ "select set_config('application_name', $2, false)", APP },
		{ "select set_config($1, null, $2)", STYLE },
		{ "select set_config($2, null, false)", 0 },
		{ "select set_config($3, $2, false)", ALL },
		{ "select set_config($0, $2, $99999999999)", ALL },
		{ "select set_config($1, $3, false)", 0 },
		{ "select set_config($1, $2, $3)", STYLE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sql_back b = read_text(rows[i].sql, values,
		    sizeof values);

		if (b.back != rows[i].back)
			print_message("%s\n", rows[i].sql);
		assert_true(b.back == rows[i].back);
	}
}

/* The first letter of a name, as a bit; of all of them. */
static uint64_t first_letter(const struct sql_back *b, const char *name)
{
	assert_ptr_equal(b->of, &values);
	return name[0] == '\0' ? 0xff : UINT64_C(1) << (name[0] - 'a');
}

static void test_what_is_certain_alone_counts_if_asked_so(void **state)
{
	static const struct {
		const char *sql;
		uint64_t back, maybe;
	} rows[] = {
		{ "reset a; set b to default; set b to 1", 1, 1 },
		{ "reset all", 0xff, 0xff }, { "select set_config(n, null, f)",
		0, 0xff }, { "select set_config('a', null, false)", 1, 1 },
		{ "select set_config('a', x, false)", 0, 1 },
		{ "select set_config('a', 'x', false), set_config('b', null,"
		" false)", 2, 2 },
		{ "do $$ begin reset a; reset b; set a to 1; end $$", 2, 2 },
		{ "do $$ begin if x then reset a; end if; set a to 1; end $$", 0,
		1 }, { "do $$ begin execute 'reset c'; end $$", 0, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (unsigned strict = 0; strict < 2; strict++) {
			struct sql_back b = { .bit = first_letter,
				.of = &values, .strict = strict != 0 };

			sql_back_read(&b, rows[i].sql, 999);
			if (b.back != (strict ? rows[i].back : rows[i].maybe))
				print_message("%s\n", rows[i].sql);
			assert_true(b.back == (strict ? rows[i].back :
			    rows[i].maybe));
		}
}

static void test_a_reset_of_another_parameter_is_noted(void **state)
{
	(void)state;
	assert_true(read_text("reset role", NULL, 0).others);
	assert_true(read_text("set a to 1; set work_mem to default", NULL,
	    0).others);
	assert_true(read_text("reset datestyle; reset my.own", NULL, 0).others);
	assert_false(read_text("reset datestyle", NULL, 0).others);
	assert_false(read_text("set work_mem to 'reset role'", NULL, 0).others);
	assert_false(read_text("discard all", NULL, 0).others);
}

/* The sanitizers see what is read behind the end. */
static void test_a_bind_that_is_cut_is_read_up_to_there(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof values; n++) {
		uint8_t cut[sizeof values];

		memcpy(cut, values, n);
		(void)read_text("select set_config($1, $2, false)", cut, n);
	}
	assert_true(read_text("select set_config($1, $2, false)", values,
	    15).back == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_may_come_back_is_named),
		cmocka_unit_test(test_a_bind_has_names_and_nulls),
		cmocka_unit_test(test_what_is_certain_alone_counts_if_asked_so),
		cmocka_unit_test(test_a_reset_of_another_parameter_is_noted),
		cmocka_unit_test(test_a_bind_that_is_cut_is_read_up_to_there),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
