/* test_effects.c - unit tests of what a text may do.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sql/effects.h"

#define BIT(effect) EFFECT_##effect

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
		cmocka_unit_test(
		    test_long_statement_does_what_its_first_word_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
