/* test_traceparent.c - the trace that a statement says it belongs to.
 * SPDX-License-Identifier: ISC */
#include "proto/traceparent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"
#define IT "00-" TRACE "-" SPAN "-01"
#define COMMENT "/*traceparent='" IT "'*/"

static bool find_in(const char *sql, size_t n, char *out)
{
	size_t len;
	const char *const value = traceparent_seek(sql, n, &len);

	return value != NULL && traceparent_read(value, len, out);
}

static const char *find(const char *sql)
{
	static char out[TRACEPARENT_BYTES];

	return find_in(sql, strlen(sql) + 1, out) ? out : "none";
}

static void test_comment_stands_at_either_end(void **state)
{
	static const char *const samples[] = {
		COMMENT,
		"select 1 " COMMENT,
		"select 1" COMMENT " ;\n",
		" " COMMENT " select 1",
		"/*first*/ select 1 /*a*/ " COMMENT,
		COMMENT " select 1 /*another*/",
		"select '/*' " COMMENT,
		"insert into t values ('*/') " COMMENT,
		"select 1 /*db_driver='x',traceparent='" IT "',z='%2C'*/",
		"select 1 /* action='/a%2Cb', traceparent='" IT "' */",
		"select 1 /*traceparent='00%2d" TRACE "%2D" SPAN "-01'*/",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		if (strcmp(find(samples[i]), IT) != 0)
			fail_msg("not found: %s", samples[i]);
	}
}

static void test_what_is_not_well_formed_is_none(void **state)
{
	static const char *const samples[] = {
		"", "*/", "/*/", "/**/", "select 1",
		"select 1 -- traceparent='" IT "'",
		"select 'traceparent=''" IT "'''",
		"select 1 /*xtraceparent='" IT "'*/",
		"select 1 /*traceparent=" IT "*/",
		"select 1 /*traceparent='" IT "*/",
		"select 1 /*traceparent='" IT "-more'*/",
		"select 1 /*traceparent='" IT,
		"select 1 /*traceparent='ff-" TRACE "-" SPAN "-01'*/",
		"select 1 /*traceparent='00-" TRACE "-" SPAN "-0'*/",
		"select 1 /*traceparent='00-" TRACE "-0000000000000000-01'*/",
		"select 1 /*traceparent='00-00000000000000000000000000000000-"
		    SPAN "-01'*/",
		"select 1 /*traceparent='00-4BF92F3577B34DA6A3CE929D0E0E4736-"
		    SPAN "-01'*/",
		"select 1 /*traceparent='00%2'*/",
		"select 1 /*traceparent='00%zz" TRACE "-" SPAN "-01'*/",
		COMMENT " select 1 /*traceparent='x'*/ from t where " COMMENT
		    " is not at the end" + sizeof COMMENT - 1,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		if (strcmp(find(samples[i]), "none") != 0)
			fail_msg("found in: %s", samples[i]);
	}
}

static void test_nothing_is_read_behind_the_bytes_that_are_here(void **state)
{
	static const char whole[] = "select 1 " COMMENT;
	char out[TRACEPARENT_BYTES];

	(void)state;
	for (size_t n = 0; n < sizeof whole - 1; n++)
		assert_false(find_in(whole, n, out));
	assert_true(find_in(whole, sizeof whole - 1, out));
}

static void test_comment_that_begins_far_away_is_none(void **state)
{
	char sql[8192];

	(void)state;
	snprintf(sql, sizeof sql, "select 1 /*%5000s*/", "traceparent='" IT
	    "'");
	assert_string_equal(find(sql), "none");
	snprintf(sql, sizeof sql, "select %5000s " COMMENT, "1");
	assert_string_equal(find(sql), IT);
	snprintf(sql, sizeof sql, COMMENT "select %5000s", "1");
	assert_string_equal(find(sql), IT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comment_stands_at_either_end),
		cmocka_unit_test(test_what_is_not_well_formed_is_none),
		cmocka_unit_test(
		    test_nothing_is_read_behind_the_bytes_that_are_here),
		cmocka_unit_test(test_comment_that_begins_far_away_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
