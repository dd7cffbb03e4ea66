/* test_ident.c - ident maps: spec/config-files.md section 10.
 * SPDX-License-Identifier: ISC */
#include "conf/ident.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

struct got {
	char buf[1024];
	struct text text;
};

static void on_report(void *arg, const char *line)
{
	struct got *const g = arg;

	text_addf(&g->text, "%s\n", line);
}

/* From a copy of exactly its size, so that ASan sees one byte too many. */
static struct ident *parse(struct got *g, const char *text, size_t len)
{
	char *const copy = test_malloc(len > 0 ? len : 1);

	memcpy(copy, text, len);
	text_init(&g->text, g->buf, sizeof(g->buf));
	struct ident *const i = ident_parse(copy, len, on_report, g);
	test_free(copy);
	return i;
}

static const char maps[] =
    "# comment\n"
    "\n"
    "one  ann  shop_ann\r\n"
    "one  bob  all # everything\n"
    "two  \"Ann Lee\" \"all\"\n"
    "one\tann\tann2\n"
    "three \"a\"\"b\" \"x#y\"";

static void test_lines_of_a_map_are_looked_through_in_order(void **state)
{
	static const struct {
		const char *map, *system, *user;
		bool allowed;
	} rows[] = {
		{ "one", "ann", "shop_ann", true },
		{ "one", "ann", "ann2", true },
		{ "one", "ann", "ann", false },
		{ "one", "ann", "all", false },
		{ "one", "bob", "whoever", true },
		{ "one", "carl", "whoever", false },
		{ "one", "Ann Lee", "all", false },
		{ "two", "Ann Lee", "all", true },
		{ "two", "Ann Lee", "ann", false },
		{ "three", "a\"b", "x#y", true },
		{ "three", "a\"b", "x", false },
	};
	struct got g;
	struct ident *i = parse(&g, maps, strlen(maps));

	(void)state;
	assert_string_equal(g.buf, "");
	for (size_t n = 0; n < sizeof(rows) / sizeof(*rows); n++) {
		const struct ident_map *const m = ident_find(i, rows[n].map);

		assert_non_null(m);
		assert_string_equal(ident_map_name(m), rows[n].map);
		assert_int_equal(ident_map_allows(m, rows[n].system,
		    rows[n].user), rows[n].allowed);
	}
	assert_null(ident_find(i, "four"));
	assert_null(ident_find(i, ""));
	ident_free(&i);
	assert_null(i);
}

static void test_faulty_lines_are_skipped(void **state)
{
	static const char text[] = "a b\na b c d\na, b c\n\"a\" b c\n"
	    "a \"b c\na b \"\"\nm x y\na b\0c d\n";
	struct got g;
	struct ident *i = parse(&g, text, sizeof(text) - 1);

	(void)state;
	assert_string_equal(g.buf,
	    "could not parse ident config line 1\n"
	    "could not parse ident config line 2\n"
	    "could not parse ident config line 3\n"
	    "could not parse ident config line 4\n"
	    "could not parse ident config line 5\n"
	    "could not parse ident config line 6\n"
	    "could not parse ident config line 8\n");
	assert_null(ident_find(i, "a"));
	assert_true(ident_map_allows(ident_find(i, "m"), "x", "y"));
	ident_free(&i);
}

static void test_each_failed_allocation_gives_null(void **state)
{
	struct got g;
	struct ident *i;
	unsigned long n = 0;

	(void)state;
	do {
		mem_fail_at(++n);
		i = parse(&g, maps, strlen(maps));
		mem_fail_at(0);
	} while (i == NULL);
	assert_true(n > 15);
	assert_non_null(ident_find(i, "three"));
	ident_free(&i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_lines_of_a_map_are_looked_through_in_order),
		cmocka_unit_test(test_faulty_lines_are_skipped),
		cmocka_unit_test(test_each_failed_allocation_gives_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
