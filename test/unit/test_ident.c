/* test_ident.c - ident maps: spec/config-files.md section 10.
 * SPDX-License-Identifier: ISC */
#include "conf/ident.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/hba_source.h"

struct got {
	char buf[4096];
	struct text text;
	struct err e;
	bool skip;
};

static void on_report(void *arg, enum log_level level, const char *line)
{
	struct got *const g = arg;

	text_addf(&g->text, "%s%s\n", level == LEVEL_WARNING ? "(skip) " : "",
	    line);
}

/* From a copy of exactly its size, so that ASan sees one byte too many. */
static struct ident *parse(struct got *g, const char *text, size_t len)
{
	char *const copy = test_malloc(len > 0 ? len : 1);

	memcpy(copy, text, len);
	text_init(&g->text, g->buf, sizeof(g->buf));
	const struct hba_source src = {
		.text = copy, .len = len, .path = "m", .report = on_report,
		.arg = g, .skip_unknown = g->skip,
	};
	struct ident *const i = ident_parse(&src, &g->e);
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
    "\"three\" \"a\"\"b\" \"x#y\"\n"
    "mail /^(.*)@(a|b)\\.example$ x_\\1_y\n"
    "mail \"/^root, \" all\n"
    "mail /^admin /^(ann|bob)$\n"
    "mail ops /^ops_\\d\n"
    "odd /^(x?)a$ \\1\nodd a all\nodd b a\\\nnn";

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
		{ "mail", "ann@a.example", "x_ann_y", true },
		{ "mail", "@b.example", "x__y", true },
		{ "mail", "ann@a.example", "x_ann_", false },
		{ "mail", "ann@a.example", "x_an_y", false },
		{ "mail", "ann@a.example", "x_ann_yy", false },
		{ "mail", "ann@aXexample", "x_ann_y", false },
		{ "mail", "ann@a.example", "x_\\1_y", false },
		{ "mail", "root, x", "anybody", true },
		{ "mail", "admins", "bob", true },
		{ "mail", "admins", "bobby", false },
		{ "mail", "ops", "ops_7", true },
		{ "mail", "ops", "ops_x", false },
		{ "odd", "xa", "x", true },
		{ "odd", "a", "whoever", true },
		{ "odd", "b", "ann", true },
	};
	struct got g = { .skip = false };
	struct ident *i = parse(&g, maps, strlen(maps));

	(void)state;
	assert_string_equal(g.buf, "");
	for (size_t n = 0; n < sizeof(rows) / sizeof(*rows); n++) {
		const struct ident_map *const m = ident_find(i, rows[n].map);

		assert_non_null(m);
		assert_string_equal(ident_map_name(m), rows[n].map);
		assert_int_equal(ident_map_allows(m, rows[n].system,
		    rows[n].user, false), rows[n].allowed);
	}
	assert_null(ident_find(i, "four"));
	assert_null(ident_find(i, ""));
	ident_free(&i);
	assert_null(i);
}

#define UNCERTAIN "wants a group in parentheses of the regular expression " \
	"that takes one certain text, see pgsluice.ini(5)"

static void test_a_faulty_line_refuses_the_file(void **state)
{
	static const char text[] = "a b\na b c d\na, b c\n\"\" b c\n"
	    "a \"b c\na b @c\nm x y\na \"b\na /( c\na /b \\1\n"
	    "a b /c|\nz b +c\na /^(b)?c \\1\na /b|(c) \\1\n";
	static const char *const why[] = {
		"1: a name is missing", "2: more than three names",
		"3: a name is expected, not \",\"",
		"4: a name is expected, not \"\"", "5: an open quote",
		"6: a name is expected, not \"@c\"", "8: an open quote",
		"9: regular expression: an open parenthesis",
		"10: \"\\1\" " UNCERTAIN, "11: regular expression: an empty branch",
		"12: \"+c\" is not supported: members of roles are not known "
		"here", "13: \"\\1\" " UNCERTAIN, "14: \"\\1\" " UNCERTAIN,
	};
	struct got g = { .skip = false };
	char want[2048];
	struct text t;

	(void)state;
	text_init(&t, want, sizeof(want));
	for (size_t i = 0; i < sizeof(why) / sizeof(*why); i++) {
		const int n = (int)strcspn(why[i], ":");

		text_addf(&t, "ident line %s (m:%.*s)\ncould not parse ident "
		    "config line %.*s\n", why[i], n, why[i], n, why[i]);
	}
	assert_null(parse(&g, text, sizeof(text) - 1));
	assert_string_equal(g.buf, want);
	assert_string_equal(g.e.text,
	    "ident line 1: a name is missing (m:1)");
}

static void test_roles_are_skipped_where_that_is_wanted(void **state)
{
	static const char text[] = "m a +b\nm a c\n";
	struct got g = { .skip = true };
	struct ident *i = parse(&g, text, sizeof(text) - 1);

	(void)state;
	assert_string_equal(g.buf, "(skip) ident line 1: \"+b\" is not "
	    "supported: members of roles are not known here (m:1): skipped\n"
	    "(skip) could not parse ident config line 1\n");
	assert_true(ident_map_allows(ident_find(i, "m"), "a", "c", false));
	assert_false(ident_map_allows(ident_find(i, "m"), "a", "+b", false));
	ident_free(&i);
}

static void test_each_failed_allocation_gives_null(void **state)
{
	struct got g = { .skip = false };
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
		cmocka_unit_test(test_a_faulty_line_refuses_the_file),
		cmocka_unit_test(test_roles_are_skipped_where_that_is_wanted),
		cmocka_unit_test(test_each_failed_allocation_gives_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
