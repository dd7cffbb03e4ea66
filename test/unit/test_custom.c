/* test_custom.c - unit tests of the names of custom parameters.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/custom.h"
#include "proto/custom.h"
#include "proto/msg.h"
#include "sql/effects.h"

static struct custom known;
static uint32_t bound;

static int teardown(void **state)
{
	(void)state;
	custom_fini(&known);
	return 0;
}

static bool take(void *arg, const char *name)
{
	return custom_put(arg, name);
}

/* Each byte behind the text is one that may not be read. */
static enum custom_found read_in(const char *sql, const char *encoding)
{
	const size_t n = strlen(sql) + 1;
	char *const exact = malloc(n);
	struct custom_reader r = { .take = take, .arg = &known,
		.encoding = encoding };

	assert_non_null(exact);
	memcpy(exact, sql, n);
	const enum custom_found found = custom_read(&r, exact, n);

	bound = r.bound;
	free(exact);
	return found;
}

static const char *all(void)
{
	static char out[1024];
	const char *name;
	unsigned at = 0;

	out[0] = '\0';
	while ((name = custom_next(&known, &at)) != NULL)
		snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s",
		    out[0] == '\0' ? "" : " ", name);
	return out;
}

/* The names of a text, with blanks between. */
static const char *names(const char *sql)
{
	custom_fini(&known);
	if (read_in(sql, "UTF8") != CUSTOM_KNOWN)
		fail_msg("%s", sql);
	return all();
}

static void test_names_are_read_in_every_spelling(void **state)
{
	static const struct {
		const char *sql, *names;
	} rows[] = {
		{ "set my.own = 1", "my.own" },
		{ "SET SESSION a.b.c TO 'x'", "a.b.c" },
		{ "set local App.User='x'; set b.c to d", "app.user b.c" },
		{ "select set_config('my.own', $1, false)", "my.own" },
		{ "select set_config ( 'a.b','', true), "
		    "pg_catalog.SET_CONFIG('c.d', 'x', false)", "a.b c.d" },
		{ "set a.b = 1; set a.b = 2", "a.b" },
		{ "set session.a = 1; set local.b to 2", "session.a local.b" },
		{ "set local session.a = 1", "session.a" },
		{ "set \"App.tenantId\" = 1", "app.tenantid" },
		{ "set \"a\".\"B\" = 1; set a . b2 = 1", "a.b a.b2" },
		{ "set /* c */ a.b /* d */ = 1; set -- c\n a.c = 1", "a.b a.c" },
		{ "set session/**/a.b = 1; set/*/**/*/a/**/./**/c = 1",
		    "a.b a.c" },
		{ "set U&\"a\\002eb\\+000043\" = 1", "a.bc" },
		{ "select set_config(E'a.b', '', true), "
		    "\"pg_catalog\".\"set_config\"('a.c', '', true), "
		    "set_config/* */ ( --\n 'a.d'::text, '', true)",
		    "a.b a.c a.d" },
		{ "select set_config($n$a$1.b$$c$n$, '', true)", "a$1.b$$c" },
		{ "select set_config($$a.b$$, '', true), "
		    "set_config($x$a.c$x$, '', true), "
		    "set_config(U&'a\\002ed', '', true)", "a.b a.c a.d" },
		{ "select U&\"set\\005fconfig\"('a.b', '', false)", "a.b" },
		{ "do $$ begin perform set_config('a.b', '', false); "
		    "set a.c = 1; if x then set a.d = 1; end if; begin set "
		    "a.e = 1; end; end $$", "a.b a.c a.d a.e" },
		{ "do 'begin perform set_config(''a.b'', '''', false); end'",
		    "a.b" },
		{ "do $d$begin execute $$set a.b = 1$$; "
		    "execute $x$set a.c = 1$x$; end$d$", "a.b a.c" },
		{ "update t set a$set = 1", "" },
		{ "select set_config(setting_name => 'a.b', new_value => '')",
		    "a.b" },
		{ "set a.\xc3\xa9 = 1", "UTF8:612ec3a9" },
		{ "select set_config('\xc3\xa9.B', '', false)",
		    "UTF8:c3a92e62" },
		{ "set \"a-b.c\" = 1", "SQL_ASCII:612d622e63" },
		/* not of this */
		{ "set work_mem = '1MB'", "" },
		{ "select set_config('work_mem', 'x', false)", "" },
		{ "update t set a = 1 where b.c = 2", "" },
		{ "update t set a.b = 1, \"c\" = set.d", "" },
		{ "update \"t\" set \"a\".\"b\" = 1; alter role x set a.b = 1",
		    "" },
		{ "insert into t values (1) on conflict do update set \"x\" = 1",
		    "" },
		{ "select a.b from reset.set_x", "" },
		{ "update t set (a, b) = (1, 2)", "" },
		{ "set time zone 'UTC'; set role none; set role \"x\"", "" },
		{ "set names 'x'; set schema 'y'; set transaction read only", "" },
		{ "set session characteristics as transaction read only", "" },
		{ "insert into t values (U&'a\\0041' uescape '!')", "" },
		{ "select U&\"a\\0041\" from t", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(names(rows[i].sql), rows[i].names) != 0)
			fail_msg("%s: %s", rows[i].sql, all());
}

static bool any(const char *sql)
{
	return (sql_effects(sql, strlen(sql) + 1) & EFFECT_NAMES) != 0;
}

static void test_texts_to_look_at_are_told_from_others(void **state)
{
	(void)state;
	assert_true(any("set a.b = 1"));
	assert_true(any("select 1, set_config('a.b', $1, false)"));
	assert_true(any("select U&\"set\\005fconfig\"('a.b', '1', false)"));
	assert_false(any("update t set a = 1"));
	assert_true(any("update t set a = 1; update t set b = 2"));
	assert_false(any("delete from settings where reset = 'x'"));
	assert_false(any("discard temp"));
	assert_false(any("set"));
	assert_false(any(""));
}

static void test_names_that_nobody_can_know_are_told(void **state)
{
	static const char *const texts[] = {
		"select set_config('a' || '.b', '1', false)",
		"select set_config('a.b' || x, '1', false)",
		"select set_config('a.'\n'b', '1', false)",
		"select set_config(x.name, '1', false) from x",
		"select set_config(E'a\\x2eb', '1', false)",
		"select set_config('a.b\\', '1', false)",
		"select set_config(U&'a!002eb' uescape '!', '1', false)",
		"select set_config(N'a.b', '1', false)",
		"select set_config($33, '1', false)",
		"do $$ begin execute 'set my.' || 'own = 42'; end $$",
		"do $$ begin execute 'set my' || '.own = 42'; end $$",
		"do $$ begin execute 'set ' || x || ' = 42'; end $$",
		"do $$ begin execute format('set %I = 1', x); end $$",
		"do $$ begin execute format('set app.%s = 1', x); end $$",
		"set \"a\"\"b.c\" = 1", "set U&\"a\\002eb\" uescape '!' = 1",
		"set a.\xc3\xa9" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1",
	};

	(void)state;
	custom_fini(&known);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (read_in(texts[i], "UTF8") != CUSTOM_UNKNOWN)
			fail_msg("%s", texts[i]);
	assert_string_equal(all(), "");
}

static void test_calls_that_are_none_hide_at_most(void **state)
{
	static const char *const texts[] = {
		"select prosrc from pg_proc where proname = 'set_config'",
		"select set_config(", "select set_config('a.b",
		"select set_config($$a.b", "select set_config($1",
		"select U&\"set!005fconfig\" uescape '!' ('a.b', '1', false)",
		"create function f(text) returns text language sql as "
		    "$$select set_config($1, 'x', false)$$",
		"create or replace function f(n text) returns text language sql "
		    "as 'select set_config(n, ''x'', false)';",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (read_in(texts[i], "UTF8") != CUSTOM_HIDDEN)
			fail_msg("%s", texts[i]);
	assert_int_equal(bound, 0);
	assert_int_equal(read_in("create function f() returns int as 'x' "
	    "language sql; select set_config(x, '', false)", "UTF8"),
	    CUSTOM_UNKNOWN);
	assert_int_equal(read_in("create table t as "
	    "select set_config(x, '', false)", "UTF8"), CUSTOM_UNKNOWN);
}

/* 0x83 0x5c is one character in SJIS, whose second byte is a backslash. */
static void test_half_a_character_ends_no_name(void **state)
{
	static const char *const texts[] = {
		"set \"a.\x83\x5c\x83\x22\" = 1",
		"select set_config('a.\x83\x53', '', false)",
		"set a.\x83\x41 = 1" };

	(void)state;
	custom_fini(&known);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_int_equal(read_in(texts[i], "SJIS"), CUSTOM_UNKNOWN);
		assert_int_equal(read_in(texts[i], NULL), CUSTOM_UNKNOWN);
	}
	assert_string_equal(all(), "");
	assert_int_equal(read_in("set \"a.b\" = '\x83\x5c'", "SJIS"),
	    CUSTOM_KNOWN);
	assert_string_equal(all(), "a.b");
	assert_false(custom_encoding_is_safe("x'"));
	assert_false(custom_encoding_is_safe(""));
	assert_true(custom_encoding_is_safe("EUC_JIS_2004"));
}

static void test_long_names_are_cut_as_by_postgresql(void **state)
{
	char sql[400], want[100], many[300];

	(void)state;
	memset(many, 'x', sizeof many - 1);
	many[sizeof many - 1] = '\0';
	snprintf(sql, sizeof sql, "set a.%.70s = 1", many);
	snprintf(want, sizeof want, "a.%.63s", many);
	assert_string_equal(names(sql), want);
	snprintf(sql, sizeof sql, "select set_config('a.%s', '', false)", many);
	assert_int_equal(read_in(sql, "UTF8"), CUSTOM_UNKNOWN);
}

static enum custom_found bind(uint32_t which, const char *bytes, size_t n)
{
	struct custom_reader r = { .take = take, .arg = &known,
		.encoding = "UTF8", .bound = which };
	char *const exact = malloc(n + 1);

	assert_non_null(exact);
	memcpy(exact, bytes, n);
	const enum custom_found found = custom_read_bind(&r, exact, n);

	free(exact);
	return found;
}

/* What comes behind is read neither as the name nor as the end of the comment. */
static void test_comment_that_is_too_long_makes_the_name_unknown(void **state)
{
	static const char *const forms[] = { "set /*%s*/ a.b = 1",
		"set --%s\n a.b = 1", "set session /*%s*/ a.b = 1",
		"set a /*%s*/ .b = 1", "set work_mem /*%s*/ = 1",
		"select set_config(/*%s*/ 'a.b', '', false)" };
	char prose[301], sql[400];

	(void)state;
	for (size_t n = 90; n < sizeof prose; n++) {
		memset(prose, 0, sizeof prose);
		for (size_t i = 0; i < n; i++)
			prose[i] = "a e "[i % 4];
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
			snprintf(sql, sizeof sql, forms[i], prose);
			const enum custom_found found = read_in(sql, "UTF8");

			if (n > 100)
				assert_int_equal(found, CUSTOM_UNKNOWN);
		}
	}
}

static void test_names_of_a_bind_are_read(void **state)
{
	static const char values[] = "\0\1\0\0\0\3\0\0\0\1x\0\0\0\3A.b"
	    "\xff\xff\xff\xff\0\0";

	(void)state;
	custom_fini(&known);
	assert_int_equal(read_in("select set_config($2, $1, false), "
	    "set_config($3, '', true), set_config('x', $4, true)", "UTF8"),
	    CUSTOM_KNOWN);
	assert_int_equal(bound, 6);
	assert_int_equal(bind(2, values, sizeof values - 1), CUSTOM_KNOWN);
	assert_string_equal(all(), "a.b");
	/* one that is NULL, one that is no custom one, one that is not there */
	assert_int_equal(bind(4, values, sizeof values - 1), CUSTOM_KNOWN);
	assert_int_equal(bind(1, values, sizeof values - 1), CUSTOM_KNOWN);
	assert_int_equal(bind(8, values, sizeof values - 1), CUSTOM_UNKNOWN);
	for (size_t n = 0; n < 18; n++)
		assert_int_equal(bind(2, values, n), CUSTOM_UNKNOWN);
	assert_string_equal(all(), "a.b");
	assert_int_equal(custom_bound("select set_config($1, $2, $3)", 29), 1);
}

static void test_sql_of_names_that_are_not_plain(void **state)
{
	struct writer w;

	(void)state;
	writer_init(&w, 1000);
	custom_name_write("UTF8:612ec3a9", &w);
	writer_u8(&w, 0);
	assert_string_equal((const char *)w.at, "pg_catalog.convert_from("
	    "pg_catalog.decode('612ec3a9','hex'),'UTF8')");
	writer_fini(&w);
	assert_true(custom_name_is_plain("a.b"));
	assert_false(custom_name_is_plain("UTF8:612ec3a9"));
}

static void test_there_is_an_end(void **state)
{
	char sql[64];

	(void)state;
	custom_fini(&known);
	for (int i = 0; i < CUSTOM_MAX; i++) {
		snprintf(sql, sizeof sql, "set a.b%d = 1", i);
		assert_int_equal(read_in(sql, NULL), CUSTOM_KNOWN);
	}
	assert_true(custom_is_full(&known));
	assert_int_equal(read_in("set a.c = 1", NULL), CUSTOM_UNKNOWN);
	assert_int_equal(read_in("set a.b7 = 1", NULL), CUSTOM_KNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_comment_that_is_too_long_makes_the_name_unknown),
		cmocka_unit_test(test_names_are_read_in_every_spelling),
		cmocka_unit_test(test_texts_to_look_at_are_told_from_others),
		cmocka_unit_test(test_names_that_nobody_can_know_are_told),
		cmocka_unit_test(test_calls_that_are_none_hide_at_most),
		cmocka_unit_test(test_half_a_character_ends_no_name),
		cmocka_unit_test(test_long_names_are_cut_as_by_postgresql),
		cmocka_unit_test(test_names_of_a_bind_are_read),
		cmocka_unit_test(test_sql_of_names_that_are_not_plain),
		cmocka_unit_test(test_there_is_an_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, teardown);
}
