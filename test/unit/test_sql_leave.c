/* test_sql_leave.c - unit tests of the words that may leave something behind.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "sql/effects.h"
#include "sql/sql_leave.h"

static const char *const words[] = { "create temp table t()",
	"CREATE TEMPORARY TABLE t()", "select 1 into Temp t",
	"select * from pg_temp.t", "create table pg_temp_3.t()",
	"select set_config('a.b', '1', false)", "select SET_CONFIG($1, $2, $3)",
	"select pg_advisory_lock(1)", "select pg_try_ADVISORY_lock(1)",
	"select nextval('s')", "select SetVal('s', 7)", "temp",
	"select U&\"\\0073et_config\"()", "select u&'x'",
	"update PG_Settings set setting = 1", "do $$ begin end $$", "DO 'x'",
	"/**/do/**/$a$", "select 1;do --\n$$", "do E'x'", "do\tLANGUAGE plperl",
	"select dblink_connect('a', 'dbname=x')", "select DBLINK_CONNECT_U($1)",
	"select pg_replication_origin_session_setup('x')", "select set_limit(1)",
	"select pg_create_physical_replication_slot('x', false, true)",
	"select pg_copy_logical_replication_slot('x', 'y', true)",
	"select query_to_xml($1, true, false, '')", "select Query_To_XMLschema($1)",
	"select * from TS_STAT($1)", "select ts_rewrite(a, $1)" };

static const char *const others[] = { "", "t", "select 1",
	"select abalance from pgbench_accounts where aid = 7",
	"select temper, attempt, template, temperature from tempt",
	"update item set room_temp = 3, temp_id = 2 where config = 'x'",
	"insert into m (value) values ('advice')", "select currval('s')",
	"select a & b from conf", "select vector, dv, tv, mp, nf from nft",
	"select lastval()", "select pg_config()", "select * from settings",
	"insert into t values (1) on conflict do nothing",
	"insert into t values (1) on conflict (a) do update set b = '1'",
	"select xml '<a/>', tsx, its_, stats, status, ts_vector, \"ts_\"",
	"select undo $1", "select a.to_do '1'", "windows do", "do",
	"select clients_status, events_stats, ts_stats, tests_stat from x",
	"select 'a?menu&\"b'", "select 'one to do', 'do', 'i do', 'do' from x",
	"select dblink('a', 'b'), dblink_disconnect('a')", "select replace(a)",
	"select * from pg_replication_slots, pg_replication_origin_status",
	"select pg_drop_replication_slot('x')", "select t_l from last_limit",
	"select pg_advisory_xact_lock(1)",
	"select pg_try_ADVISORY_XACT_lock_shared($1)" };

static void test_words_are_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		assert_true(sql_may_leave(words[i], strlen(words[i]) + 1));
}

static void test_others_are_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(sql_may_leave(others[i], strlen(others[i]) + 1));
}

/* Of a text in pieces of so many bytes, the first of which may be shorter. */
static uint32_t leaves_in_pieces(const char *sql, size_t n, size_t first,
    size_t size)
{
	struct sql_long l = { 0 };

	for (size_t at = 0, end = first; at < n; at = end, end += size) {
		end = end < n ? end : n;
		sql_long_take(&l, sql + at, end - at);
	}
	sql_long_end(&l);
	return l.what;
}

/* What is read of it in one piece tells more of the last two. */
static uint32_t expected(const char *sql)
{
	uint32_t what = sql_effects(sql, strlen(sql)) & (EFFECT_LEAVES |
	    EFFECT_DRAWS | EFFECT_HIDES | EFFECT_OPENS | EFFECT_MAKES |
	    EFFECT_MAY_OPEN);

	if (strcasestr(sql, "set_config") != NULL)
		what |= EFFECT_LEAVES | EFFECT_HIDES;
	if ((what & EFFECT_LEAVES) != 0 && strncasecmp(sql, "do ", 3) == 0)
		what = (what & ~(uint32_t)EFFECT_OPENS) | EFFECT_HIDES | EFFECT_MAY_OPEN;
	return what;
}

static void check_in_pieces(const char *sql)
{
	static const size_t sizes[] = { 1, 7, 64, 96, 97, 250 };
	const size_t n = strlen(sql), pad = 300;
	char text[1024];

	memset(text, ' ', sizeof text);
	memcpy(text, "select 1;\n", 10);
	memcpy(text + pad, sql, n);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t first = 1; first <= pad + n; first += 3)
			if (leaves_in_pieces(text, pad + n + (i % 2) * 400,
			    first, sizes[i]) != expected(sql))
				fail_msg("%s, %zu, %zu", sql, first, sizes[i]);
}

static void test_pieces_are_of_no_matter(void **state)
{
	static const char *const rows[] = { "select nextval('s')",
		"select dblink_connect('a')", "do 'begin load ''x''; end'",
		"select pg_create_logical_replication_slot('a', 'b', true)",
		"select pg_replication_origin_session_setup('a')",
		"do 'begin execute x; end'", "select U&\"x\"", "select u&'x'",
		"select query_to_xml($1, true, true, '')", "select ts_stat($1)",
		"create temp table t()", "select set_config('a', 'b', true)",
		"select pg_advisory_lock(1)", "select pg_advisory_xact_lock(1)",
		"insert into t values ('a') on conflict do nothing",
		"select clients_status, dododo, mpmpmp, gsgsgs, menu&'",
		"select set_limit(1)", "select setval('s', 1)", "" };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_in_pieces(rows[i]);
}

static void test_a_piece_that_ends_behind_do_may_be_a_block(void **state)
{
	char text[256] = ";do";

	(void)state;
	memset(text + 3, ' ', 200);
	assert_int_equal(leaves_in_pieces(text, 203, 1, 50),
	    EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN);
}

/* Of what stands behind DO only so many bytes are looked at together. */
static void test_language_that_a_piece_cuts_is_one(void **state)
{
	char text[256];

	(void)state;
	for (int blanks = 1; blanks < 70; blanks++) {
		const int n = snprintf(text, sizeof text,
		    "select 1;DO%*sLANGUAGE plperl 'x'", blanks, "");

		for (size_t first = 1; first <= (size_t)n; first++)
			if (leaves_in_pieces(text, (size_t)n, first, 50) !=
			    (EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN))
				fail_msg("%d, %zu", blanks, first);
	}
}

/* Whichever block of bytes it falls into. */
static void test_place_is_of_no_matter(void **state)
{
	char text[128];

	(void)state;
	for (int before = 0; before < 40; before++) {
		for (int after = 0; after < 40; after++) {
			const int n = snprintf(text, sizeof text,
			    "%*s nextval %*s", before, "", after, "");

			assert_true(sql_may_leave(text, (size_t)n));
			assert_true(sql_may_leave(text, (size_t)before + 8));
			assert_false(sql_may_leave(text, (size_t)before + 7));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_seen),
		cmocka_unit_test(test_others_are_not),
		cmocka_unit_test(test_pieces_are_of_no_matter),
		cmocka_unit_test(test_a_piece_that_ends_behind_do_may_be_a_block),
		cmocka_unit_test(test_language_that_a_piece_cuts_is_one),
		cmocka_unit_test(test_place_is_of_no_matter),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
