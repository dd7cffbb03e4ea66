/* test_ini.c - the dialect of the main file, row by row.
 * SPDX-License-Identifier: ISC */
#include "conf/ini.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

/* What the lexer called, one line a call. */
struct log {
	char buf[4096];
	struct text text;
	enum ini_step section_step;
	const char *included;	/* text of every included file */
	unsigned includes;
};

static struct ini_ops ops;

static enum ini_step on_section(void *arg, const char *name,
    const struct ini_place *at)
{
	struct log *const l = arg;

	text_addf(&l->text, "%u[%s]\n", at->line, name);
	return l->section_step;
}

static enum ini_step on_entry(void *arg, const char *key, const char *value,
    const struct ini_place *at)
{
	struct log *const l = arg;

	text_addf(&l->text, "%u<%s><%s>\n", at->line, key, value);
	return INI_GO;
}

static enum ini_step on_include(void *arg, const char *path,
    const struct ini_place *at)
{
	struct log *const l = arg;

	l->includes++;
	text_addf(&l->text, "%u%%%s\n", at->line, path);
	if (l->included == NULL)
		return INI_BAD;

	const struct ini_source src = {
		.text = l->included, .len = strlen(l->included),
		.file = path, .depth = at->depth + 1,
	};
	return ini_parse(&src, &ops, l);
}

static void on_problem(void *arg, const char *text)
{
	struct log *const l = arg;

	text_addf(&l->text, "!%s\n", text);
}

static struct ini_ops ops = {
	.section = on_section,
	.entry = on_entry,
	.include = on_include,
	.problem = on_problem,
};

static void log_init(struct log *l)
{
	*l = (struct log){ .section_step = INI_GO };
	text_init(&l->text, l->buf, sizeof(l->buf));
}

static enum ini_step parse(struct log *l, const char *text, size_t len)
{
	/* Exactly as long as it is, so that ASan sees a byte too many. */
	char *const copy = test_malloc(len > 0 ? len : 1);
	const struct ini_source src = {
		.text = copy, .len = len, .file = "f",
	};

	memcpy(copy, text, len);
	const enum ini_step step = ini_parse(&src, &ops, l);
	test_free(copy);
	return step;
}

#define SYNTAX(line) \
	"!syntax error in configuration (f:" #line "), stopping loading " \
	"(a line is \"key = value\", or \"[section]\")\n"

static const struct {
	const char *text, *want;
} good_rows[] = {
	/* nothing, blank lines, indentation, CRLF */
	{ "", "" },
	{ "\n \t\n\r\n", "" },
	{ "  a = 1", "1<a><1>\n" },
	{ "\r\n[x]\r\na = 1\r\n", "2[x]\n3<a><1>\n" },
	/* comments, and none after other text */
	{ "; a = 1\n # b\na=1", "3<a><1>\n" },
	{ "log_stats = 1 ; x", "1<log_stats><1 ; x>\n" },
	{ "a=1#2", "1<a><1#2>\n" },
	{ ";end", "" },
	/* headers: literal names, text after the bracket */
	{ "[ X y ]", "1[ X y ]\n" },
	{ "[]", "1[]\n" },
	{ "[x] a = 1", "1[x]\n1<a><1>\n" },
	{ "[x]; c\n[y]", "1[x]\n2[y]\n" },
	{ "[x][y]", "1[x]\n1[y]\n" },
	/* entries: blanks, empty values, odd values */
	{ "a\t =\t b c \t\n", "1<a><b c>\n" },
	{ "a=", "1<a><>\n" },
	{ "a =\nb = 2", "1<a><>\n2<b><2>\n" },
	{ "a = x=y;z#'\"[]", "1<a><x=y;z#'\"[]>\n" },
	{ "a = 'q'", "1<a><'q'>\n" },
	{ "a = 1 \\\nb = 2", "1<a><1 \\>\n2<b><2>\n" },
	/* bare keys */
	{ "aZ09_.-* = 1", "1<aZ09_.-*><1>\n" },
	{ "* = x", "1<*><x>\n" },
	/* quoted keys */
	{ "'a b=;' = 1", "1<a b=;><1>\n" },
	{ "'\"' = 1", "1<\"><1>\n" },
	{ "\"a b\" = 1", "1<a b><1>\n" },
	{ "\"a \"\"b\"\"\" = 1", "1<a \"b\"><1>\n" },
	{ "\"it's\"=1", "1<it's><1>\n" },
};

static void test_good_text_gives_its_entries(void **state)
{
	struct log l;

	(void)state;
	for (size_t i = 0; i < sizeof(good_rows) / sizeof(*good_rows); i++) {
		const char *const text = good_rows[i].text;

		log_init(&l);
		assert_int_equal(parse(&l, text, strlen(text)), INI_GO);
		assert_string_equal(l.buf, good_rows[i].want);
	}
}

static const struct {
	const char *text, *want;
} bad_rows[] = {
	{ "a", SYNTAX(1) },
	{ "a b = 1", SYNTAX(1) },
	{ "a/b = 1", SYNTAX(1) },
	{ "= 1", SYNTAX(1) },
	{ "'' = 1", SYNTAX(1) },
	{ "\"\" = 1", SYNTAX(1) },
	{ "'a = 1", SYNTAX(1) },
	{ "'a'b = 1", SYNTAX(1) },
	{ "'a\n' = 1", SYNTAX(1) SYNTAX(2) },
	{ "\"a\"\" = 1", SYNTAX(1) },
	{ "[x\n]", SYNTAX(1) SYNTAX(2) },
	{ "[", SYNTAX(1) },
	{ "a\n= 1", SYNTAX(1) SYNTAX(2) },
	{ "%includex", SYNTAX(1) },
	{ "%include", SYNTAX(1) },
	{ "%other x", SYNTAX(1) },
	{ "\xff = 1", SYNTAX(1) },
};

static void test_bad_text_is_reported_with_its_line(void **state)
{
	struct log l;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_rows) / sizeof(*bad_rows); i++) {
		const char *const text = bad_rows[i].text;

		log_init(&l);
		assert_int_equal(parse(&l, text, strlen(text)), INI_BAD);
		assert_string_equal(l.buf, bad_rows[i].want);
	}
}

static void test_parsing_goes_on_after_a_bad_line(void **state)
{
	static const char text[] = "[x]\n??\n\n\na = 1\n!!\nb = 2\n";
	struct log l;

	(void)state;
	log_init(&l);
	assert_int_equal(parse(&l, text, strlen(text)), INI_BAD);
	assert_string_equal(l.buf, "1[x]\n" SYNTAX(2) "5<a><1>\n" SYNTAX(6)
	    "7<b><2>\n");
}

static void test_a_nul_byte_refuses_the_file(void **state)
{
	static const char text[] = "a = 1\n;\0\nb = 2";
	struct log l;

	(void)state;
	log_init(&l);
	assert_int_equal(parse(&l, text, sizeof(text) - 1), INI_BAD);
	assert_string_equal(l.buf,
	    "!NUL byte in configuration (f:2), stopping loading\n");
}

static void test_include_is_parsed_in_place(void **state)
{
	static const char text[] = "a = 1\n %include \t d/x y.ini \nb = 2\n";
	struct log l;

	(void)state;
	log_init(&l);
	l.included = "\n[i]\nc = 3";
	assert_int_equal(parse(&l, text, strlen(text)), INI_GO);
	assert_string_equal(l.buf, "1<a><1>\n2%d/x y.ini\n2[i]\n3<c><3>\n"
	    "3<b><2>\n");
}

static void test_bad_include_is_reported_and_the_rest_read(void **state)
{
	static const char text[] = "%include x\nb = 2\n";
	struct log l;

	(void)state;
	log_init(&l);
	assert_int_equal(parse(&l, text, strlen(text)), INI_BAD);
	assert_string_equal(l.buf, "1%x\n!error processing include file in "
	    "configuration (f:1), stopping loading\n2<b><2>\n");
}

static void test_error_inside_an_include_names_both_files(void **state)
{
	static const char text[] = "%include g\n";
	struct log l;

	(void)state;
	log_init(&l);
	l.included = "\n?";
	assert_int_equal(parse(&l, text, strlen(text)), INI_BAD);
	assert_string_equal(l.buf, "1%g\n!syntax error in configuration "
	    "(g:2), stopping loading (a line is \"key = value\", or "
	    "\"[section]\")\n!error processing include file in "
	    "configuration (f:1), stopping loading\n");
}

static void test_eleventh_level_of_include_stops(void **state)
{
	static const char text[] = "%include x\nb = 2\n";
	struct log l;

	(void)state;
	log_init(&l);
	l.included = text;
	assert_int_equal(parse(&l, text, strlen(text)), INI_STOP);
	assert_int_equal(l.includes, 10);
	assert_non_null(strstr(l.buf, "!include nesting level too deep "
	    "(x:1), stopping loading\n"));
	assert_null(strstr(l.buf, "<b>"));
}

static void test_ten_levels_of_include_are_read(void **state)
{
	static const char text[] = "a = 1";
	const struct ini_source src = {
		.text = "%include x", .len = 10, .file = "f", .depth = 9,
	};
	struct log l;

	(void)state;
	log_init(&l);
	l.included = text;
	assert_int_equal(ini_parse(&src, &ops, &l), INI_GO);
	assert_string_equal(l.buf, "1%x\n1<a><1>\n");
}

static void test_bad_header_is_told_by_the_callee(void **state)
{
	static const char text[] = "[x] a = 1\n";
	struct log l;

	(void)state;
	log_init(&l);
	l.section_step = INI_BAD;
	assert_int_equal(parse(&l, text, strlen(text)), INI_BAD);
	assert_string_equal(l.buf, "1[x]\n1<a><1>\n");
	log_init(&l);
	l.section_step = INI_STOP;
	assert_int_equal(parse(&l, text, strlen(text)), INI_STOP);
	assert_string_equal(l.buf, "1[x]\n");
}

static void test_each_failed_allocation_stops_the_parsing(void **state)
{
	static const char text[] = "[x]\n'k' = v\n%include y\n";
	struct log l;
	unsigned long n = 0;
	enum ini_step step;

	(void)state;
	do {
		log_init(&l);
		l.included = "";
		mem_fail_at(++n);
		step = parse(&l, text, strlen(text));
		mem_fail_at(0);
		if (step != INI_GO) {
			assert_int_equal(step, INI_STOP);
			assert_non_null(strstr(l.buf, "!out of memory\n"));
		}
	} while (step != INI_GO);
	assert_int_equal(n, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_text_gives_its_entries),
		cmocka_unit_test(test_bad_text_is_reported_with_its_line),
		cmocka_unit_test(test_parsing_goes_on_after_a_bad_line),
		cmocka_unit_test(test_a_nul_byte_refuses_the_file),
		cmocka_unit_test(test_include_is_parsed_in_place),
		cmocka_unit_test(
		    test_bad_include_is_reported_and_the_rest_read),
		cmocka_unit_test(
		    test_error_inside_an_include_names_both_files),
		cmocka_unit_test(test_eleventh_level_of_include_stops),
		cmocka_unit_test(test_ten_levels_of_include_are_read),
		cmocka_unit_test(test_bad_header_is_told_by_the_callee),
		cmocka_unit_test(
		    test_each_failed_allocation_stops_the_parsing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
