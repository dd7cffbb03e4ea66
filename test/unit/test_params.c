/* test_params.c - sets of tracked parameters: sharing, quoting, no memory.
 * SPDX-License-Identifier: ISC */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/msg.h"
#include "proto/params.h"

/* that of a server that reports all */
static const struct params_origin loud;

static struct params *with(struct params_table *t, const char *name,
    const char *value)
{
	struct params *p = params_empty(t);

	assert_non_null(p);
	assert_int_equal(params_set(&p, params_find(t, name), value), 0);
	return p;
}

static void test_names(void **state)
{
	struct params_table *t = params_table_new(
	    " search_path ,, IntervalStyle,datestyle , ,x");

	(void)state;
	assert_int_equal(params_count(t), 12);
	assert_string_equal(params_name(t, 0), "DateStyle");
	assert_string_equal(params_name(t, 5), "search_path");
	assert_int_equal(params_find(t, "INTERVALSTYLE"), 6);
	assert_int_equal(params_find(t, "x"), 11);
	assert_int_equal(params_find(t, ""), -1);
	params_table_free(&t);
	assert_null(t);
}

static void expect_status(struct params *p, const void *bytes, size_t len)
{
	struct writer w;

	writer_init(&w, 1 << 16);
	writer_u8(&w, '!');
	params_write_status(p, &w);
	assert_false(w.failed);
	assert_int_equal(w.len, len + 1);
	assert_memory_equal(w.at + 1, bytes, len);
	writer_fini(&w);
}

static void test_status_is_the_same_each_time(void **state)
{
	static const char all[] = "S\0\0\0\x11TimeZone\0UTC\0"
	    "S\0\0\0\x16" "application_name\0";
	struct params_table *t = params_table_new(NULL);
	struct params *a = with(t, "TimeZone", "UTC"), *b, *none;

	(void)state;
	none = params_empty(t);
	expect_status(none, "", 0);
	assert_int_equal(params_set(&a, 4, ""), 0);
	expect_status(a, all, sizeof all);
	b = params_ref(a);
	for (int i = 0; i < 3; i++)	/* made, kept, kept */
		expect_status(b, all, sizeof all);
	assert_int_equal(params_set(&b, 4, "x"), 0);
	expect_status(a, all, sizeof all);
	params_unref(&a);
	params_unref(&b);
	params_unref(&none);
	params_table_free(&t);
}

static void test_equal_sets_are_one(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *a = with(t, "TimeZone", "UTC");
	struct params *b = with(t, "TimeZone", "CET");
	struct params *e = params_empty(t), *r = params_ref(a);

	(void)state;
	assert_ptr_not_equal(a, b);
	assert_int_equal(params_set(&b, 2, "UTC"), 0);
	assert_ptr_equal(a, b);
	assert_null(params_get(e, 2));
	assert_int_equal(params_fill(&e, a), 0);
	assert_ptr_equal(e, a);
	assert_int_equal(mem_stat(MEM_PARAMS)->used, 2);	/* one is empty */
	params_unref(&a);
	params_unref(&b);
	params_unref(&e);
	assert_string_equal(params_get(r, 2), "UTC");
	params_unref(&r);
	assert_int_equal(mem_stat(MEM_PARAMS)->used, 1);
	params_table_free(&t);
	assert_int_equal(mem_stat(MEM_PARAMS)->used, 0);
}

static void test_fill_and_adopt(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *client = with(t, "TimeZone", "utc");
	struct params *server = with(t, "TimeZone", "UTC");

	(void)state;
	assert_int_equal(params_set(&server, 0, "ISO"), 0);
	/* what the client lacks is not adopted, but filled */
	assert_int_equal(params_adopt(&client, server, 0), 0);
	assert_null(params_get(client, 0));
	assert_string_equal(params_get(client, 2), "UTC");
	assert_int_equal(params_fill(&client, server), 0);
	assert_ptr_equal(client, server);
	assert_int_equal(params_adopt(&client, server, 0), 0);
	params_unref(&client);
	params_unref(&server);
	params_table_free(&t);
}

static void assert_sets(const char *name, const char *value, const char *sql)
{
	struct params_table *t = params_table_new("search_path");
	struct params *want = with(t, name, value), *have = with(t, name, "?");
	struct writer w;

	writer_init(&w, 1 << 16);
	assert_int_equal(params_write_sets(want, have, &loud, &w), 1);
	assert_false(w.failed);
	assert_int_equal(w.len, strlen(sql) + 1);
	assert_string_equal((const char *)w.at, sql);
	writer_fini(&w);
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void test_values_are_quoted(void **state)
{
	(void)state;
	assert_sets("timezone", "UTC", "SET TimeZone='UTC';");
	assert_sets("timezone", "", "SET TimeZone='';");
	assert_sets("timezone", "'; DROP TABLE t; --",
	    "SET TimeZone='''; DROP TABLE t; --';");
	assert_sets("application_name", "a\\", "SET application_name=E'a\\\\';");
	assert_sets("application_name", "\\'", "SET application_name=E'\\\\''';");
	/* SJIS: the backslash is the second byte of a character */
	assert_sets("application_name", "\x83\\", "SET application_name="
	    "E'\x83\\x5c';");
	assert_sets("application_name", "\xc3\xa9\\'", "SET application_name="
	    "E'\xc3\xa9\\x5c''';");
}

static void test_search_path_is_a_list_or_a_literal(void **state)
{
	/* NULL: a list that PostgreSQL would print in another way */
	static const char *const lists[][2] = {
		{ "public", "\"public\"" }, { "_a, b_1", "\"_a\",\"b_1\"" },
		{ "\"$user\", public", "\"$user\",\"public\"" },
		{ "\"a;B\"", "\"a;B\"" }, { "\"1\"", "\"1\"" },
		{ "\"a\"\"; x\"", "\"a\"\"; x\"" }, { "\"\xc3\xa4\"", "\"\xc3\xa4\"" },
		{ "a,B , \tc ", NULL }, { "a,b", NULL }, { "a,  b", NULL },
		{ " a", NULL }, { "a ", NULL }, { "\"a\"", NULL }, { "a, \"b\"", NULL },
		/* no identifiers of SQL, or words of it */
		{ "tenant-1, User", NULL }, { "tenant-1", NULL }, { "user", NULL },
		{ "default", NULL }, { "\"default\"", NULL }, { "1", NULL },
		{ "$$\"$$;", NULL }, { "a--,b/*", NULL }, { "\xc3\xa4", NULL },
		{ "a, \"\"", NULL }, { "\"\"", NULL }, { "", NULL }, { " ", NULL },
		/* names of 63 and 64 bytes */
		{ "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0",
		"\"abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0\"" },
		{ "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz01",
		NULL },
	};
	static const char *const others[] = { "a b", "a,", ",a", "a,,b", "\"a",
		"\"a\"b", "a \"b\"", "\"a\" b", " , " };
	char sql[160];

	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (lists[i][1] != NULL)
			snprintf(sql, sizeof sql, "SET search_path=%s;",
			    lists[i][1]);
		else
			snprintf(sql, sizeof sql, "SELECT pg_catalog.set_config("
			    "'search_path','%s',false);", lists[i][0]);
		assert_sets("search_path", lists[i][0], sql);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		snprintf(sql, sizeof sql, "SET search_path='%s';", others[i]);
		assert_sets("search_path", others[i], sql);
	}
	assert_sets("search_path", "a'b\\", "SELECT pg_catalog.set_config("
	    "'search_path',E'a''b\\\\',false);");
	assert_sets("search_path", "'x y", "SET search_path='''x y';");
}

static void test_only_differences_of_both_are_set(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *want = with(t, "TimeZone", "utc");
	struct params *have = with(t, "TimeZone", "UTC");
	struct writer w;

	(void)state;
	writer_init(&w, 1 << 16);
	assert_int_equal(params_set(&want, 4, "app"), 0);
	assert_int_equal(params_set(&have, 0, "ISO"), 0);
	assert_int_equal(params_write_sets(want, have, &loud, &w), 0);
	assert_int_equal(params_write_sets(want, want, &loud, &w), 0);
	assert_int_equal(w.len, 0);
	assert_int_equal(params_set(&have, 4, ""), 0);
	assert_int_equal(params_set(&want, 0, "German"), 0);
	assert_int_equal(params_write_sets(want, have, &loud, &w), 1);
	assert_string_equal((const char *)w.at,
	    "SET DateStyle='German';SET application_name='app';");
	writer_fini(&w);
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

/* Everything that is sent, with bars for the ends of queries. */
static void assert_queries_of(const struct params *want,
    const struct params *have, const struct params_origin *o, const char *sql)
{
	struct writer w;

	writer_init(&w, 1 << 16);
	const int n = params_write_sets(want, have, o, &w);
	int bars = 0;

	for (size_t i = 0; i < w.len; i++) {
		if (w.at[i] != '\0')
			continue;
		w.at[i] = '|';
		bars++;
	}
	assert_int_equal(n, bars);
	writer_u8(&w, 0);
	assert_string_equal((const char *)w.at, sql);
	writer_fini(&w);
}

static void assert_queries(const struct params *want,
    const struct params *have, const char *sql)
{
	assert_queries_of(want, have, &loud, sql);
}

static void test_encoding_comes_first_by_itself(void **state)
{
	struct params_table *t = params_table_new("search_path");
	struct params *want = with(t, "client_encoding", "LATIN1");
	struct params *have = with(t, "client_encoding", "UTF8");

	(void)state;
	assert_queries(want, have, "SET client_encoding='LATIN1';|");
	assert_int_equal(params_set(&want, 4, "caf\xe9"), 0);
	assert_int_equal(params_set(&have, 4, ""), 0);
	assert_int_equal(params_set(&want, 5, "\xc3\xa4"), 0);
	assert_int_equal(params_set(&have, 5, "\xc3\xa4"), 0);
	/* the same bytes are other characters now */
	assert_queries(want, have, "SET client_encoding='LATIN1';|"
	    "SET application_name='caf\xe9';SELECT pg_catalog.set_config("
	    "'search_path','\xc3\xa4',false);|");
	assert_int_equal(params_expect(&have, want, &loud), 0);
	assert_string_equal(params_get(have, 1), "UTF8");
	assert_string_equal(params_get(have, 4), "caf\xe9");
	assert_int_equal(params_set(&have, 1, "LATIN1"), 0);
	assert_queries(want, have, "");
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void test_case_counts_but_for_words_of_a_list(void **state)
{
	struct params_table *t = params_table_new("search_path,IntervalStyle");
	struct params *want = params_empty(t), *have = params_empty(t);

	(void)state;
	for (int i = 0; i < params_count(t); i++) {
		assert_int_equal(params_set(&want, i, "ab"), 0);
		assert_int_equal(params_set(&have, i, "AB"), 0);
	}
	assert_queries(want, have,
	    "RESET session_authorization;SET role=none;"
	    "SET application_name='ab';SET search_path=\"ab\";"
	    "SET scram_iterations='ab';SET extra_float_digits='ab';|");
	/* who is asked about the others spells them in his own way */
	assert_int_equal(params_fill(&want, have), 0);
	assert_string_equal(params_get(want, 2), "AB");
	assert_string_equal(params_get(want, 4), "ab");
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void test_half_a_datestyle_is_filled(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *have = with(t, "DateStyle", "SQL, DMY");
	struct params *want = with(t, "DateStyle", "iso");

	(void)state;
	assert_int_equal(params_fill(&want, have), 0);
	assert_string_equal(params_get(want, 0), "ISO, DMY");
	assert_int_equal(params_set(&want, 0, "no style"), 0);
	assert_int_equal(params_fill(&want, have), 0);
	assert_string_equal(params_get(want, 0), "no style");
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

/* standard_conforming_strings of the server: v; then sql is sent. */
static void assert_literal(const char *v, const char *want_v,
    const char *sql)
{
	static const char value[] = "\x83\\a\\'";	/* SJIS: so, a, backslash */
	struct params_table *t = params_table_new(NULL);
	struct params *want = with(t, "application_name", value);
	struct params *have = with(t, "application_name", "");

	if (v != NULL) {
		assert_int_equal(params_set(&have, 3, v), 0);
		assert_int_equal(params_set(&want, 3, want_v), 0);
	}
	assert_queries(want, have, sql);
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void test_backslash_is_a_byte_where_strings_are_standard(void **state)
{
	(void)state;
	assert_literal("on", "on",
	    "SET application_name='\x83\\a\\''';|");
	assert_literal("on", "off", "SET standard_conforming_strings='off';"
	    "SET application_name='\x83\\a\\''';|");
	assert_literal("off", "off", "SET standard_conforming_strings='on';|"
	    "SET standard_conforming_strings='off';"
	    "SET application_name='\x83\\a\\''';|");
	assert_literal("off", "on", "SET standard_conforming_strings='on';|"
	    "SET standard_conforming_strings='on';"
	    "SET application_name='\x83\\a\\''';|");
	/* nobody knows: it means the same in both, if not in SJIS */
	assert_literal(NULL, NULL,
	    "SET application_name=E'\x83\\x5ca\\\\''';|");
}

static void test_strings_become_standard_behind_the_first_query(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *want = with(t, "client_encoding", "\\'");
	struct params *have = with(t, "client_encoding", "UTF8");

	(void)state;
	assert_int_equal(params_set(&have, 3, "off"), 0);
	assert_queries(want, have, "SET client_encoding=E'\\\\''';"
	    "SET standard_conforming_strings='on';|"
	    "SET standard_conforming_strings='off';|");
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void test_names_in_pairs_of_bytes_keep_their_case(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *want = with(t, "search_path", "A\x83" "A\x83\\B, C");
	struct params *have = with(t, "search_path", "");
	const struct params_origin open = { .open = true };

	(void)state;
	assert_queries(want, have, "SELECT pg_catalog.set_config('search_path',"
	    "E'A\x83" "A\x83\\x5cB, C',false);|");
	/* in a transaction as names, because a SELECT would have a snapshot */
	assert_queries_of(want, have, &open,
	    "SET search_path=\"a\x83" "a\x83\\b\",\"c\";|");
	assert_int_equal(params_set(&want, 1, "shift-jis"), 0);
	assert_int_equal(params_set(&have, 1, "SHIFT-JIS"), 0);
	assert_queries_of(want, have, &open,
	    "SET search_path=\"a\x83" "A\x83\\b\",\"c\";|");
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void assert_actor(const struct params *want, const struct params *have,
    const struct params_origin *o, enum params_actor who, const char *sql)
{
	struct writer w;

	writer_init(&w, 1 << 16);
	assert_int_equal(params_write_actor(want, have, o, &w), who);
	writer_u8(&w, 0);
	assert_string_equal((const char *)w.at, sql);
	writer_fini(&w);
}

static void test_who_acts_is_reset_first_and_set_last(void **state)
{
	struct params_table *t = params_table_new("role, log_statement");
	struct params *want = with(t, "session_authorization", "ann");
	struct params *have = with(t, "session_authorization", "bob");

	(void)state;
	for (int i = 11; i < 13; i++) {
		assert_int_equal(params_set(&want, i, "x"), 0);
		assert_int_equal(params_set(&have, i, i == 11 ? "x" : "y"), 0);
	}
	/* the role is kept, but whom it was taken by is not */
	assert_queries(want, have, "RESET role;RESET session_authorization;"
	    "SET role=none;SET log_statement='x';|");
	assert_actor(want, have, &loud, PARAMS_ACTOR_OTHER,
	    "SET session_authorization='ann';SET role='x';");
	assert_int_equal(params_set(&have, 9, "ann"), 0);
	assert_queries(want, have, "SET log_statement='x';|");
	assert_actor(want, have, &loud, PARAMS_ACTOR_SAME, "");
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void test_who_acts_again_as_at_first_has_the_role_of_then(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *want = with(t, "session_authorization", "ann");
	struct params *have = with(t, "session_authorization", "bob");
	const struct params_origin first = { .set = want };

	(void)state;
	assert_actor(want, have, &first, PARAMS_ACTOR_FIRST,
	    "SET session_authorization='ann';");
	assert_actor(have, want, &first, PARAMS_ACTOR_OTHER,
	    "SET session_authorization='bob';");
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

#define SEARCH_PATH 5
#define SILENT ((uint64_t)1 << SEARCH_PATH)

static const struct params_origin quiet = { .silent = SILENT };

static void assert_changes(const struct params *want, const struct params *have,
    const struct params_origin *o, const char *expected)
{
	struct writer w;

	writer_init(&w, 1 << 16);
	(void)params_write_sets(want, have, o, &w);
	writer_u8(&w, 0);
	assert_string_equal((char *)w.at, expected);
	writer_fini(&w);
}

static void assert_silent(const struct params *want,
    const struct params *have, const char *expected)
{
	assert_changes(want, have, &quiet, expected);
}

static void test_silent_value_is_set_and_reset(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *none = params_empty(t), *have = params_empty(t);
	struct params *want = with(t, "search_path", "a, b");

	(void)state;
	assert_true(params_silent(want) == (params_silent(none) & ~SILENT));
	assert_true((params_silent(none) & SILENT) != 0);
	/* a server that reports it would have told us */
	assert_queries(want, have, "");
	assert_silent(want, have, "SET search_path=\"a\",\"b\";");
	assert_int_equal(params_expect(&have, want, &quiet), 0);
	assert_string_equal(params_get(have, SEARCH_PATH), "a, b");
	assert_silent(want, have, "");
	assert_silent(none, have, "RESET search_path;");
	assert_int_equal(params_expect(&have, none, &quiet), 0);
	assert_null(params_get(have, SEARCH_PATH));
	assert_silent(none, have, "");
	params_unref(&none);
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

static void test_silent_value_that_may_have_changed_is_set_again(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *none = params_empty(t), *clean = params_empty(t);
	struct params *want = with(t, "search_path", "a");
	struct params *have = params_ref(want);

	(void)state;
	assert_int_equal(params_forget(&have, &loud, true), 0);
	assert_ptr_equal(have, want);
	assert_int_equal(params_forget(&have, &quiet, false), 0);
	assert_silent(want, have, "SET search_path=\"a\";");
	assert_silent(none, have, "RESET search_path;");
	/* it is left alone where it is not to be set */
	assert_queries(want, have, "");
	assert_queries(none, have, "");
	assert_int_equal(params_expect(&have, want, &loud), 0);
	assert_ptr_equal(params_get(have, SEARCH_PATH), params_unknown());
	/* what nobody knows is told to nobody */
	assert_int_equal(params_adopt(&want, have, SILENT), 0);
	assert_string_equal(params_get(want, SEARCH_PATH), "a");
	/* nor has it who asks for just that text */
	assert_int_equal(params_set(&want, SEARCH_PATH,
	    params_get(have, SEARCH_PATH)), 0);
	assert_silent(want, have,
	    "SELECT pg_catalog.set_config('search_path','?',false);");
	/* a server that we never gave one has what it had */
	assert_int_equal(params_forget(&clean, &quiet, true), 0);
	assert_silent(none, clean, "");
	params_unref(&none);
	params_unref(&clean);
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

/* spec/pooling.md 21: what connect_query has set is there for who asks for
 * nothing */
static void test_silent_value_goes_back_to_that_of_connect_query(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *none = params_empty(t), *have = params_empty(t);
	struct params *want = with(t, "search_path", "a");
	struct params_origin o = {
		.set = with(t, "search_path", "tenant, public"),
		.silent = SILENT };

	(void)state;
	assert_changes(none, have, &o, "");
	assert_changes(want, have, &o, "SET search_path=\"a\";");
	assert_int_equal(params_expect(&have, want, &o), 0);
	assert_changes(none, have, &o, "SET search_path=\"tenant\",\"public\";");
	assert_int_equal(params_expect(&have, none, &o), 0);
	assert_ptr_equal(have, none);
	/* a SET of who knows what leaves alone what we have not set ... */
	assert_int_equal(params_forget(&have, &o, false), 0);
	assert_ptr_equal(have, none);
	/* ... DISCARD ALL takes it back */
	assert_int_equal(params_forget(&have, &o, true), 0);
	assert_changes(none, have, &o, "SET search_path=\"tenant\",\"public\";");
	params_unref(&o.set);
	params_unref(&none);
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

/* the pool's first server was of a release that does not report it */
static void test_reported_value_that_the_client_lacks_is_the_servers(
    void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *none = params_empty(t);
	struct params_origin o = { .set = with(t, "search_path", "public") };
	struct params *have = params_ref(o.set);
	struct params *want = with(t, "search_path", "a");

	(void)state;
	assert_changes(none, have, &o, "");
	assert_int_equal(params_expect(&have, want, &o), 0);
	assert_changes(none, have, &o, "SET search_path=\"public\";");
	assert_int_equal(params_expect(&have, none, &o), 0);
	assert_ptr_equal(have, o.set);
	params_unref(&o.set);
	params_unref(&none);
	params_unref(&want);
	params_unref(&have);
	params_table_free(&t);
}

/* PostgreSQL 15 has no scram_iterations, and would refuse to SET it */
static void test_scram_iterations_is_not_set_where_it_is_unknown(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct params *none = params_empty(t);
	struct params *want = with(t, "scram_iterations", "4096");
	const struct params_origin o = { .silent = params_silent(none) };

	(void)state;
	assert_changes(want, none, &o, "");
	assert_int_equal(params_find(t, "scram_iterations"),
	    PARAMS_SCRAM_ITERATIONS);
	params_unref(&none);
	params_unref(&want);
	params_table_free(&t);
}

static bool whole_life(void)
{
	struct params_table *t = params_table_new("search_path,a");
	struct params *p = t == NULL ? NULL : params_empty(t);
	struct params *q = p == NULL ? NULL : params_ref(p);
	const struct params *before = p;
	bool ok = p != NULL;

	if (ok && params_set(&p, 2, "UTC") < 0) {
		assert_ptr_equal(p, before);
		ok = false;
	}
	ok = ok && params_set(&q, 0, "ISO") == 0 &&
	    params_set(&p, 0, "SQL, MDY") == 0 && params_fill(&q, p) == 0 &&
	    params_set(&p, 2, "CET") == 0 && params_expect(&p, q, &loud) == 0 &&
	    params_adopt(&q, p, 0) == 0 && params_set(&p, 5, "a") == 0 &&
	    params_forget(&p, &quiet, true) == 0;
	if (ok)
		assert_string_equal(params_get(q, 2), "CET");
	params_unref(&p);
	params_unref(&q);
	params_table_free(&t);
	assert_int_equal(mem_stat(MEM_PARAMS)->used, 0);
	assert_int_equal(mem_stat(MEM_PARAMS)->bytes, 0);
	return ok;
}

static void test_each_allocation_may_fail(void **state)
{
	unsigned long n = 1;

	(void)state;
	for (;; n++) {
		mem_fail_at(n);
		const bool ok = whole_life();

		if (mem_fail_at(0) < n) {
			assert_true(ok);
			break;
		}
		assert_false(ok);
	}
	assert_true(n > 15);
}

#define LIST "gone\0\1x\0DateStyle\0\1ISO\0TimeZone\0\0"

static struct params_table *table;

static int set_up(void **state)
{
	(void)state;
	table = params_table_new(NULL);
	return table == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	params_table_free(&table);
	return 0;
}

/* What another process, which tracks others, has written. */
static struct reader foreign(void)
{
	struct reader list;

	reader_init(&list, LIST, sizeof LIST - 1);
	return list;
}

static void test_what_was_written_is_read(void **state)
{
	struct params *set = params_empty(table), *again = params_empty(table);
	struct reader r, list;
	struct writer w;

	(void)state;
	assert_int_equal(params_set(&set, PARAMS_DATESTYLE, "SQL"), 0);
	writer_init(&w, 1 << 16);
	params_list_write(table, set, &w);
	writer_u8(&w, 7);
	assert_false(w.failed);
	reader_init(&r, w.at, w.len);
	params_list_read(&r, &list);
	assert_int_equal(reader_u8(&r), 7);
	assert_false(r.failed);
	assert_int_equal(params_list_load(table, list, &again), 0);
	assert_ptr_equal(params_get(again, PARAMS_DATESTYLE),
	    params_get(set, PARAMS_DATESTYLE));
	params_unref(&set);
	params_unref(&again);
	writer_fini(&w);
}

static void test_what_is_not_tracked_here_is_left_out(void **state)
{
	struct params *set = params_empty(table);

	(void)state;
	assert_int_equal(params_list_load(table, foreign(), &set), 0);
	assert_string_equal(params_get(set, PARAMS_DATESTYLE), "ISO");
	params_unref(&set);
}

static void test_bits_follow_the_names(void **state)
{
	const int zone = params_find(table, "TimeZone");

	(void)state;
	assert_int_equal(params_list_bits(table, foreign(), 1), 0);
	assert_int_equal(params_list_bits(table, foreign(), 2),
	    (uint64_t)1 << PARAMS_DATESTYLE);
	assert_int_equal(params_list_bits(table, foreign(), 7),
	    (uint64_t)1 << PARAMS_DATESTYLE | (uint64_t)1 << zone);
}

static void test_list_that_is_cut_fails_its_reader(void **state)
{
	static const char bytes[] = "\0\0\0\15" "TimeZone\0\1UT";
	struct reader r, list;

	(void)state;
	reader_init(&r, bytes, sizeof bytes - 1);
	params_list_read(&r, &list);
	assert_true(r.failed);
	reader_init(&r, bytes, sizeof bytes - 3);	/* longer than it is */
	params_list_read(&r, &list);
	assert_true(r.failed);
}

static void test_want_of_memory_is_an_error(void **state)
{
	struct params *set = params_empty(table);

	(void)state;
	mem_fail_at(1);
	assert_int_equal(params_list_load(table, foreign(), &set), -1);
	mem_fail_at(0);
	params_unref(&set);
}

#define STAGED(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_status_is_the_same_each_time),
		cmocka_unit_test(test_equal_sets_are_one),
		cmocka_unit_test(test_fill_and_adopt),
		cmocka_unit_test(test_values_are_quoted),
		cmocka_unit_test(test_search_path_is_a_list_or_a_literal),
		cmocka_unit_test(test_only_differences_of_both_are_set),
		cmocka_unit_test(test_encoding_comes_first_by_itself),
		cmocka_unit_test(test_case_counts_but_for_words_of_a_list),
		cmocka_unit_test(test_half_a_datestyle_is_filled),
		cmocka_unit_test(
		    test_backslash_is_a_byte_where_strings_are_standard),
		cmocka_unit_test(
		    test_strings_become_standard_behind_the_first_query),
		cmocka_unit_test(test_names_in_pairs_of_bytes_keep_their_case),
		cmocka_unit_test(test_who_acts_is_reset_first_and_set_last),
		cmocka_unit_test(
		    test_who_acts_again_as_at_first_has_the_role_of_then),
		cmocka_unit_test(test_silent_value_is_set_and_reset),
		cmocka_unit_test(test_silent_value_that_may_have_changed_is_set_again),
		cmocka_unit_test(
		    test_silent_value_goes_back_to_that_of_connect_query),
		cmocka_unit_test(
		    test_reported_value_that_the_client_lacks_is_the_servers),
		cmocka_unit_test(
		    test_scram_iterations_is_not_set_where_it_is_unknown),
		cmocka_unit_test(test_each_allocation_may_fail),
		STAGED(test_what_was_written_is_read),
		STAGED(test_what_is_not_tracked_here_is_left_out),
		STAGED(test_bits_follow_the_names),
		STAGED(test_list_that_is_cut_fails_its_reader),
		STAGED(test_want_of_memory_is_an_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
