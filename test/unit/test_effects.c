/* test_effects.c - unit tests of what a text may do.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/effects.h"

#define BIT(effect) EFFECT_##effect
/* Without a NUL nobody knows. */
#define OF_WHOLE (EFFECT_TIMELESS | EFFECT_BEGINS)

struct row {
	const char *text;
	uint32_t has, has_not;
};

static uint32_t effects(const char *text)
{
	return sql_effects(text, strlen(text) + 1);
}

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t got = effects(rows[i].text);

		if ((got & rows[i].has) != rows[i].has ||
		    (got & rows[i].has_not) != 0)
			print_error("%s: %x\n", rows[i].text, got);
		assert_int_equal(got & rows[i].has, rows[i].has);
		assert_int_equal(got & rows[i].has_not, 0);
	}
}
#define CHECK(rows) check(rows, sizeof rows / sizeof *rows)

/*
 * In memory of its own, with a NUL or not, so that nothing around it is read: has
 * each text the effect, or none?
 */
static void check_all(uint32_t effect, const char *const *texts, bool want)
{
	for (; *texts != NULL; texts++) {
		const size_t n = strlen(*texts);
		char *const exact = malloc(n + 1);

		assert_non_null(exact);
		memcpy(exact, *texts, n + 1);
		if (((sql_effects(exact, n + 1) & effect) != 0) != want)
			fail_msg("%s", *texts);
		char *const shorter = realloc(exact, n > 0 ? n : 1);

		assert_non_null(shorter);
		if (((sql_effects(shorter, n) & effect &
		    ~(uint32_t)OF_WHOLE) != 0) != (want &&
		    (effect & OF_WHOLE) == 0))
			fail_msg("%s", *texts);
		free(shorter);
	}
}

static void test_statements_say_what_they_do(void **state)
{
	static const struct row rows[] = {
		{ "set a = 1", BIT(SETS) | BIT(SET_FIRST) | BIT(LONE_SET),
		    BIT(RESETS) | BIT(MAY_SET) | BIT(LOCAL) },
		{ "set a to default", BIT(RESETS), BIT(SETS) },
		{ "set local a = 1", BIT(LOCAL), 0 },
		{ "set role x", BIT(ROLE) | BIT(MAY_SET), BIT(UNSEEN) },
		{ "set search_path = x", BIT(PATH) | BIT(MAY_SET), BIT(ROLE) },
		{ "set bytea_output = x", BIT(UNSEEN) | BIT(MAY_SET), 0 },
		{ "reset all", BIT(RESETS) | BIT(ALL), BIT(FORGETS) },
		{ "discard all", BIT(RESETS) | BIT(FORGETS) | BIT(ALL), 0 },
		{ "deallocate prepare all", BIT(FORGETS), BIT(RESETS) },
		{ "begin", BIT(BEGINS) | BIT(UTILITY), BIT(ENDS) },
		{ "commit", BIT(ENDS) | BIT(UTILITY), BIT(BEGINS) },
		{ "select 1; commit", BIT(ENDS) | BIT(SEVERAL) | BIT(MATTERS),
		    BIT(UTILITY) },
		{ "create table t (a int)", BIT(SCHEMA), BIT(LEAVES) },
		{ "insert into t values (1)", 0, BIT(SCHEMA) },
		{ "select a into t from u", BIT(SCHEMA), BIT(TIMELESS) },
		{ "", BIT(PLAIN), ~(uint32_t)BIT(PLAIN) },
	};

	(void)state;
	CHECK(rows);
}

static void test_words_say_what_may_be_left(void **state)
{
	static const struct row rows[] = {
		{ "create temp table t (a int)", BIT(LEAVES) | BIT(MAKES), 0 },
		{ "select nextval('s')", BIT(WORDS) | BIT(DRAWS), BIT(LEAVES) },
		{ "select pg_advisory_lock(1)", BIT(LEAVES), 0 },
		{ "select pg_advisory_xact_lock(1)", 0, BIT(WORDS) },
		{ "select set_config('a.b', 'c', true)",
		    BIT(WORDS) | BIT(NAMES) | BIT(CALLS), BIT(LEAVES) },
		{ "select set_config('a.b', 'c', false)", BIT(LEAVES), 0 },
		{ "select set_config(n, 'c', false)", BIT(ROLE) | BIT(UNSEEN),
		    0 },
		{ "do $$ begin end $$", BIT(LEAVES) | BIT(ROLE), BIT(OPENS) },
		{ "do $$ begin load 'x'; end $$", BIT(OPENS), BIT(MAY_OPEN) },
		{ "do $$ begin execute x; end $$", BIT(MAY_OPEN), BIT(OPENS) },
		{ "insert into t values (1) on conflict do nothing", 0,
		    BIT(WORDS) },
		{ "update t set a = default", BIT(ADDS), 0 },
		{ "select 'select nextval(1)'", BIT(DRAWS), 0 },
		/* an UPDATE may name a column "set"; nothing else is set by it */
		{ "update t set a = 1", BIT(PLAIN), BIT(NAMES) },
		{ "update t set a = default", 0, BIT(PLAIN) },
		/* the tag of an INSERT tells that it draws */
		{ "insert into t with a as (select 1) select * from a",
		    BIT(ADDS) | BIT(PLAIN), 0 },
		{ "select a from t", BIT(PLAIN), 0 },
		{ "select a; select b", BIT(MATTERS), BIT(PLAIN) },
	};

	(void)state;
	CHECK(rows);
}

static void test_literals_may_be_of_the_moment(void **state)
{
	static const struct row rows[] = {
		{ "select a from t where b = 'x'", BIT(TIMELESS),
		    BIT(MOMENTARY) },
		{ "select 'now'", BIT(MOMENTARY), BIT(TIMELESS) },
		{ "select 'known'", 0, BIT(MOMENTARY) | BIT(TIMELESS) },
		{ "select now", 0, BIT(MOMENTARY) },
		{ "select 'no' 'w'", BIT(MOMENTARY), BIT(TIMELESS) },
		{ "select 'x'::regrole", BIT(MOMENTARY), 0 },
		{ "select '10:00'", 0, BIT(TIMELESS) | BIT(MOMENTARY) },
		{ "select E'{n\\\\ow}'", BIT(MOMENTARY), 0 },
	};

	(void)state;
	CHECK(rows);
}

/* Where PostgreSQL's scan.l ends strings, names, dollar quotes and comments. */
static void test_text_is_read_as_postgresql_reads_it(void **state)
{
	static const struct row rows[] = {
		{ "select 'a;discard all'", BIT(SEVERAL), BIT(FORGETS) },
		{ "select \"a;discard all\"", 0, BIT(FORGETS) },
		{ "select $a$;discard all$a$", 0, BIT(FORGETS) },
		{ "select $a$$b$;discard all$a$;discard all", BIT(FORGETS), 0 },
		{ "/* a /* b */ ;discard all */", 0, BIT(FORGETS) },
		{ "-- a\rdiscard all", BIT(FORGETS), 0 },
		{ "select E'a''b;discard plans'; reset all", BIT(RESETS), 0 },
		/* two quotes are one, in E'...', too */
		{ "select E'''\\';reset all'", 0, BIT(RESETS) },
		/* a number ends before a dollar quote; a parameter is none */
		{ "select 1$a$;reset all;$a$", 0, BIT(RESETS) },
		{ "select $1$;reset all;$1$", BIT(RESETS), 0 },
	};

	(void)state;
	CHECK(rows);
}

/* Each reader of before had a rule of its own. */
static void test_word_is_what_postgresql_takes_for_one(void **state)
{
	static const struct row rows[] = {
		{ "select set$x, create$, \xc3\xa4into from t", 0,
		    BIT(SCHEMA) | BIT(NAMES) },
		{ "select set_config$('x', 'y', false)", 0, BIT(ROLE) },
		{ "do$$ begin end $$", 0, BIT(ROLE) },
		{ "insert into t values ('doe')", 0, BIT(WORDS) },
		/* up to PostgreSQL 14 */
		{ "select 1into t", BIT(SCHEMA), 0 },
		/* in a string, a dollar sign may be that of a quote */
		{ "select $f$begin execute $$set a.b = 1$$; end$f$", BIT(NAMES),
		    0 },
		{ "select $f$do $$ begin end $$ $f$", BIT(LEAVES), 0 },
		{ "select $f$$$do $x$ load $x$$$ $f$", BIT(OPENS), 0 },
		{ "/**/select E'\\nset role x'", BIT(ROLE) | BIT(NAMES), 0 },
		{ "/**/select E'\\set role x'", BIT(NAMES), 0 },
	};

	(void)state;
	CHECK(rows);
}

/* What a type or another setting takes away may make a word of the clock. */
static void test_backslash_leaves_nothing_sure(void **state)
{
	static const struct row rows[] = {
		{ "select E'no\\w'", 0, BIT(TIMELESS) },
		{ "select 'no\\w'", 0, BIT(TIMELESS) },
		{ "select 'a\\'; discard all'", BIT(FORGETS), 0 },
		{ "set a = '\\'", BIT(SET_FIRST), BIT(LONE_SET) },
	};

	(void)state;
	CHECK(rows);
}

static void test_nul_ends_the_text(void **state)
{
	static const char text[] = "begin\0; reset all";

	(void)state;
	assert_int_equal(sql_effects(text, sizeof text), effects("begin"));
	/* without one it may go on */
	assert_int_equal(sql_effects("begin", 5) & EFFECT_BEGINS, 0);
	assert_int_equal(sql_effects("select a", 8) & EFFECT_TIMELESS, 0);
	assert_int_equal(sql_effects("", 0), EFFECT_PLAIN);
}

/* Behind what was read, any statement of a Query may be; one of a Parse may not. */
static void test_long_statement_does_what_its_first_word_may(void **state)
{
	static const char query[] = "select a from t", other[] = "set a = ";
	static const char into[] = "/* */ with a as (select 1) select b into c";

	(void)state;
	assert_int_equal(sql_effects_long(other, sizeof other), EFFECTS_ANY);
	assert_int_equal(sql_effects_long(query, sizeof query), EFFECTS_ANY &
	    ~(uint32_t)(EFFECT_ENDS | EFFECTS_HOLD | EFFECT_SCHEMA));
	assert_int_equal(sql_effects_long(into, sizeof into), EFFECTS_ANY &
	    ~(uint32_t)(EFFECT_ENDS | EFFECTS_HOLD));
	assert_int_equal(sql_effects_long("", 0), EFFECTS_ANY);
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
	check_all(EFFECT_MOMENTARY, yes, true);
	check_all(EFFECT_MOMENTARY, no, false);
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
	check_all(EFFECT_ENDS, end, true);
	check_all(EFFECT_ENDS, may, false);
	check_all(EFFECT_ENDS, others, false);
	check_all(EFFECT_MAY_SET, may, true);
	check_all(EFFECT_MAY_SET, others, false);
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
	check_all(EFFECT_UNSEEN, unseen, true);
	check_all(EFFECT_UNSEEN, roles, false);
	check_all(EFFECT_UNSEEN, neither, false);
	check_all(EFFECT_UNSEEN, any, true);
	check_all(EFFECT_ROLE, any, true);
	check_all(EFFECT_ROLE, roles, true);
	check_all(EFFECT_ROLE, unseen, false);
	check_all(EFFECT_ROLE, neither, false);
	assert_true(effects("reset ALL") & EFFECT_ALL);
	assert_false(effects("reset all_x") & EFFECT_ALL);
}

static void test_plain_texts_are_timeless(void **state)
{
	static const char *const yes[] = { "select 1", " SELECT $1::int",
		"Select a.b, 12.5 from \"A b\".t where c = $12",
		"insert into t values ($1, 'it''s', 'active')",
		"with x as (select 'a') select * from x",
		"update t set a = a + $1 where b = 'x' and c = ''",
		"delete from t where a = '' or b='a''b'", "values (1, 'a')",
		"select col1 from now_t where today = yesterday()",
		"select a - b, a / b * c from t",
		NULL };

	(void)state;
	check_all(EFFECT_TIMELESS, yes, true);
}

static void test_literals_by_the_clock_are_not_timeless(void **state)
{
	static const char *const no[] = { "select 'now'::timestamptz",
		"select ' NoW '", "select 'xtodayx'", "select 'TOMORROW'",
		"select 'a' || 'yesterday'", "select 'current'",
		"select 'allballs'", "select '04:05'", "select 'a1'",
		"select 'no'\n'w'", "select 'no' 'w'", "select '''now'",
		"select e'n\\157w'", "select $$now$$", "select $a$now$a$",
		"select u&'n'", "select '",
		NULL };

	(void)state;
	check_all(EFFECT_TIMELESS, no, false);
}

static void test_other_texts_are_not_timeless(void **state)
{
	static const char *const no[] = { "", " ", "show all", "set a = b",
		"create table t ()", "selec", "selects 1", "table t",
		"select 1 into t", "with a as (select 1) select * INTO t from a",
		"select 1 -- x", "/* x */ select 1", "select 1 /* x */",
		"select set_config($1, $2, true)", "select nextval($1)",
		"select * from pg_temp.t", "select a$b from t", "select \"a",
		"(select 1)",
		NULL };
	char longer[200];

	(void)state;
	check_all(EFFECT_TIMELESS, no, false);
	/* no NUL, and what is behind it */
	assert_true(sql_effects("select 1\0'now'", 15) & EFFECT_TIMELESS);
	snprintf(longer, sizeof longer, "select %063d", 0);
	assert_true(effects(longer) & EFFECT_TIMELESS);
	snprintf(longer, sizeof longer, "select a%062d", 0);
	assert_true(effects(longer) & EFFECT_TIMELESS);
	snprintf(longer, sizeof longer, "select a%063d", 0);
	assert_false(effects(longer) & EFFECT_TIMELESS);
	snprintf(longer, sizeof longer, "select \"%064d\"", 0);
	assert_false(effects(longer) & EFFECT_TIMELESS);
}

static void test_begin_is_known(void **state)
{
	static const char *const yes[] = { "BEGIN", "begin work",
		"START TRANSACTION READ ONLY",
		NULL };
	static const char *const no[] = { "", "beginning", "commit",
		"begin; select 1", " begin", "end",
		NULL };

	(void)state;
	check_all(EFFECT_BEGINS, yes, true);
	check_all(EFFECT_BEGINS, no, false);
}

#define LEFT (EFFECT_LEAVES | EFFECT_DRAWS | EFFECT_HIDES | EFFECT_OPENS | \
    EFFECT_MAKES | EFFECT_MAY_OPEN)

static void test_what_is_left_is_told(void **state)
{
	static const struct {
		const char *sql;
		uint32_t what;
	} rows[] = {
		{ "select nextval('s')", EFFECT_DRAWS },
		{ "select dblink_connect('a')", EFFECT_LEAVES | EFFECT_OPENS },
		{ "select pg_create_logical_replication_slot()",
		    EFFECT_LEAVES | EFFECT_OPENS },
		{ "select set_limit(0.9)", EFFECT_LEAVES },
		{ "do 'begin load ''x''; end'", EFFECT_LEAVES | EFFECT_OPENS },
		{ "do 'begin reload(); end'", EFFECT_LEAVES },
		{ "do 'begin execute x; end'", EFFECT_LEAVES | EFFECT_MAY_OPEN },
		{ "do language x 'y'", EFFECT_LEAVES | EFFECT_MAY_OPEN },
		{ "select U&\"\\0064blink_connect\"('a')",
		    EFFECT_LEAVES | EFFECT_MAY_OPEN },
		{ "select U&'x'", EFFECT_LEAVES },
		{ "select ts_stat($1)",
		    EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN },
		{ "select query_to_xml($1, true, true, '')",
		    EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN },
		{ "select setval('s', 1), 1 as temp", EFFECT_DRAWS | EFFECT_LEAVES | EFFECT_MAKES },
		{ "select set_config('a.b', 'x', true)", 0 },
		{ "select SET_CONFIG ( 'a.b' , $12 , TRUE )", 0 },
		{ "select set_config('a','',true), set_config('b',$1,true)", 0 },
		{ "select set_config('a', 'x', true), nextval('s')", EFFECT_DRAWS },
		{ "select set_config('a', 'x', true), set_config('b', 'x', false)",
		    EFFECT_LEAVES },
		{ "select set_config('a', 'x', true) + pg_advisory_lock(1)",
		    EFFECT_LEAVES },
		{ "select set_config('search_path', 'x', true)", EFFECT_LEAVES },
		{ "select set_config('SEARCH_PATH', 'x', true)", EFFECT_LEAVES },
		{ "select set_config($1, 'x', true)", EFFECT_LEAVES },
		{ "select my_set_config('a', 'x', true)", EFFECT_LEAVES },
		{ "select my.set_config('a', 'x', true)", EFFECT_LEAVES },
		{ "select \"my\".set_config('a', 'x', true)", EFFECT_LEAVES },
		{ "select pg_catalog.set_config('a', 'x', true)", 0 },
		{ "select my_pg_advisory_xact_lock(1)", EFFECT_LEAVES },
		{ "select my.pg_advisory_xact_lock(1)", EFFECT_LEAVES },
		{ "select pg_advisory_xact_unlock(1)", EFFECT_LEAVES },
		{ "select set_config('a', 'it''s', true)", EFFECT_LEAVES },
		{ "select set_config('a', '\\', true), '", EFFECT_LEAVES },
		{ "select set_config(E'a', 'x', true)", EFFECT_LEAVES },
		{ "select set_config('a', 'x', true and false)", EFFECT_LEAVES },
		{ "select set_config('a', 'x', $1)", EFFECT_LEAVES },
		{ "select set_config('a', 'x' || 'y', true)", EFFECT_LEAVES },
		{ "select set_config('a', $1::text, true)", EFFECT_LEAVES },
		{ "select \"set_config\"('a', 'x', true)", EFFECT_LEAVES },
		{ "select set_config('a', 'x', true", EFFECT_LEAVES },
		{ "select set_config('a', 'x', tru", EFFECT_LEAVES },
		{ "select set_config('a', 'x'", EFFECT_LEAVES },
		{ "select set_config('a", EFFECT_LEAVES },
		{ "select set_config(", EFFECT_LEAVES },
		{ "select set_config", EFFECT_LEAVES }, { "select 1", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const size_t n = strlen(rows[i].sql);
		char *const exact = malloc(n);

		assert_non_null(exact);
		memcpy(exact, rows[i].sql, n);
		if ((sql_effects(exact, n) & LEFT) != rows[i].what)
			fail_msg("%s", rows[i].sql);
		free(exact);
	}
}

static void test_numbers_that_no_tag_tells(void **state)
{
	static const char *const yes[] = { "update t set id = default",
		"with x as (insert into t default values) select 1",
		"WITH x AS (UPDATE t SET (a, b) = (DEFAULT, 1)) SELECT 1",
		"with x as (select 1) merge into t using x", NULL };
	static const char *const no[] = { "update t set id = 1", "select 1",
		"with x as (select 1) select * from x", "insert into t values (1)",
		"select default_x from updates", "", NULL };

	(void)state;
	check_all(EFFECT_ADDS, yes, true);
	check_all(EFFECT_ADDS, no, false);
}

static void test_local_is_told_from_others(void **state)
{
	static const char *const yes[] = { "set local work_mem = 1",
	    "SET  LOCAL a.b to 1", " set\ttransaction read only",
	    "set local role x; set role y",
		NULL };
	static const char *const no[] = { "set work_mem = 1", "set", "set local",
	    "set locale = 1", "set session work_mem = 1", "reset local",
	    "set session characteristics as transaction read only",
	    "set local_x = 1", "select 1", "", "settle local x",
	    "set local.x = 1", "set local . x = 1", "set transaction.x = 1",
	    "set/**/local x = 1", "set local/**/.x = 1",
		NULL };

	(void)state;
	check_all(EFFECT_LOCAL, yes, true);
	check_all(EFFECT_LOCAL, no, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements_say_what_they_do),
		cmocka_unit_test(test_words_say_what_may_be_left),
		cmocka_unit_test(test_literals_may_be_of_the_moment),
		cmocka_unit_test(test_text_is_read_as_postgresql_reads_it),
		cmocka_unit_test(test_word_is_what_postgresql_takes_for_one),
		cmocka_unit_test(test_backslash_leaves_nothing_sure),
		cmocka_unit_test(test_nul_ends_the_text),
		cmocka_unit_test(test_what_is_momentary),
		cmocka_unit_test(test_words_that_may_set),
		cmocka_unit_test(test_names_of_what_no_report_tells),
		cmocka_unit_test(test_plain_texts_are_timeless),
		cmocka_unit_test(test_literals_by_the_clock_are_not_timeless),
		cmocka_unit_test(test_other_texts_are_not_timeless),
		cmocka_unit_test(test_begin_is_known),
		cmocka_unit_test(test_what_is_left_is_told),
		cmocka_unit_test(test_numbers_that_no_tag_tells),
		cmocka_unit_test(test_local_is_told_from_others),
		cmocka_unit_test(
		    test_long_statement_does_what_its_first_word_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
