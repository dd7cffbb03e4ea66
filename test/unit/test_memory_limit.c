/* test_memory_limit.c - what memory_limit means, and its levels.
 * SPDX-License-Identifier: ISC */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/ceiling.h"
#include "base/err.h"
#include "conf/memory_limit.h"

#define MB ((size_t)1 << 20)

static char root[] = "/tmp/memory_limit_XXXXXX";

static void put(const char *path, const char *text)
{
	char full[PATH_MAX];

	snprintf(full, sizeof full, "%s/%s", root, path);
	if (text == NULL) {
		assert_int_equal(mkdir(full, 0700), 0);
		return;
	}
	FILE *const f = fopen(full, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_least_limit_of_all_groups_above_counts(void **state)
{
	static const struct {
		const char *groups;
		size_t bytes;
	} rows[] = {
		{ "0::/a/b\n", 300 },
		{ "0::/a\n", 500 },
		{ "0::/\n", 0 },
		{ "0::/none/such\n", 0 },
		{ "0::/../a/b\n", 0 },
		{ "5:cpu:/a\n4:memory:/old\n", 700 },
		{ "4:memory:/old\n0::/a/b\n", 300 },
		{ "", 0 },
		{ "nonsense\n:\n::\n", 0 },
	};
	char cleared[PATH_MAX + 16];

	(void)state;
	assert_non_null(mkdtemp(root));
	put("a", NULL);
	put("a/memory.max", "500\n");
	put("a/b", NULL);
	put("a/b/memory.max", "300\n");
	put("memory", NULL);
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/old", NULL);
	put("memory/old/memory.limit_in_bytes", "700\n");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(memory_limit_of_cgroup(rows[i].groups, root),
		    rows[i].bytes);
	put("a/b/memory.max", "max\n");
	assert_int_equal(memory_limit_of_cgroup("0::/a/b\n", root), 500);
	static const char *const all[] = { "a/b/memory.max", "a/b",
		"a/memory.max", "a", "memory/old/memory.limit_in_bytes",
		"memory/old", "memory/memory.limit_in_bytes", "memory", "" };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(cleared, sizeof cleared, "%s/%s", root, all[i]);
		assert_int_equal(remove(cleared), 0);
	}
}

static void test_value_is_bytes_or_auto(void **state)
{
	static const char *const bad[] = { "", "much", "-1", "1MB", "16777215",
		"1.5GB", "auto " };
	size_t n = 0;
	struct err e;

	(void)state;
	assert_int_equal(memory_limit_parse("0", &n, &e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(memory_limit_parse("8GB", &n, &e), 0);
	assert_int_equal(n, 8192 * MB);
	assert_int_equal(memory_limit_parse("auto", &n, &e), 0);
	assert_true(n > 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(memory_limit_parse(bad[i], &n, &e), -1);
}

static void test_level_begins_and_ends_apart(void **state)
{
	(void)state;
	ceiling_set(1000);
	const long had = (long)ceiling_used();

	ceiling_grow(849 - had);
	assert_int_equal(ceiling_level(), CEILING_CALM);
	ceiling_grow(1);
	assert_int_equal(ceiling_level(), CEILING_TIGHT);
	ceiling_grow(-49);
	assert_int_equal(ceiling_level(), CEILING_TIGHT);
	ceiling_grow(149);
	assert_int_equal(ceiling_level(), CEILING_FULL);
	assert_true(ceiling_stops(1));
	assert_false(ceiling_stops(0));
	/* 950 are used, and it ends below 900 */
	assert_true(ceiling_stays_full(50));
	assert_false(ceiling_stays_full(51));
	ceiling_grow(-49);
	assert_int_equal(ceiling_level(), CEILING_FULL);
	ceiling_grow(-2);
	assert_int_equal(ceiling_level(), CEILING_TIGHT);
	assert_false(ceiling_stays_full(0));
	assert_string_equal(ceiling_level_name(), "tight");
	ceiling_grow(-200);
	assert_int_equal(ceiling_level(), CEILING_CALM);
	ceiling_grow(1000);
	ceiling_set(0);
	assert_int_equal(ceiling_level(), CEILING_CALM);
	ceiling_grow(-(long)ceiling_used());
}

static void test_buffer_that_would_fill_all_waits_before_it_grows(void **state)
{
	(void)state;
	ceiling_set(100 * MB);
	assert_false(ceiling_stops(40 * MB));
	assert_true(ceiling_stops(48 * MB));
	ceiling_set(0);
	assert_false(ceiling_stops(48 * MB));
}

static void test_largest_of_all_workers_acts(void **state)
{
	(void)state;
	assert_true(ceiling_bid(0, 5));
	assert_true(ceiling_bid(1, 7));
	assert_false(ceiling_bid(0, 5));
	assert_false(ceiling_bid(1, 0));
	assert_true(ceiling_bid(0, 5));
	assert_false(ceiling_bid(0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_limit_of_all_groups_above_counts),
		cmocka_unit_test(test_value_is_bytes_or_auto),
		cmocka_unit_test(test_level_begins_and_ends_apart),
		cmocka_unit_test(
		    test_buffer_that_would_fill_all_waits_before_it_grows),
		cmocka_unit_test(test_largest_of_all_workers_acts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
