/* test_terminal.c - text of others on a terminal.
 * SPDX-License-Identifier: ISC */
#include "ctl/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static int utf8(void **state)
{
	(void)state;
	terminal_locale();
	return 0;
}

static void assert_put(const char *s, const char *want)
{
	char *buf = NULL;
	size_t size = 0;
	FILE *const f = open_memstream(&buf, &size);

	printable_put(f, s);
	fclose(f);
	assert_string_equal(buf, want);
	assert_int_equal(printable_width(s), printable_width(want));
	free(buf);
}

static void test_control_characters_are_escaped(void **state)
{
	(void)state;

	assert_put("a\033[31mb", "a\\x1b[31mb");
	assert_put("\r\a\177", "\\x0d\\x07\\x7f");
	assert_put("two\nlines\tx", "two\\nlines\\tx");
	/* C1, CSI of 8 bits, as UTF-8 and alone */
	assert_put("\xc2\x9b" "31m", "\\xc2\\x9b31m");
	assert_put("\x9b" "31m", "\\x9b31m");
}

static void test_what_turns_text_around_is_escaped(void **state)
{
	(void)state;

	assert_put("a\xe2\x80\xaa\xe2\x80\xae" "b",
	    "a\\xe2\\x80\\xaa\\xe2\\x80\\xaeb");
	assert_put("\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	/* their neighbours are not */
	assert_put("\xe2\x80\xaf", "\xe2\x80\xaf");
}

static void test_what_is_no_utf8_is_escaped(void **state)
{
	(void)state;

	assert_put("caf\xe9!", "caf\\xe9!");
	assert_put("\xc0\xafx", "\\xc0\\xafx");
	assert_put("cut\xe2\x82", "cut\\xe2\\x82");
}

static void test_width_is_that_on_the_screen(void **state)
{
	(void)state;

	assert_int_equal(printable_width(""), 0);
	assert_int_equal(printable_width("caf\xc3\xa9"), 4);
	assert_int_equal(printable_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	assert_int_equal(printable_width("e\xcc\x81"), 1);
	assert_int_equal(printable_width("\033"), 4);
}

static void assert_cut(const char *s, int columns, const char *want)
{
	char buf[64];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	const int width = printable_add(&t, s, columns);

	assert_string_equal(buf, want);
	assert_int_equal(width, printable_width(want));
}

static void test_what_is_too_wide_is_cut_with_a_mark(void **state)
{
	(void)state;

	assert_cut("database", 8, "database");
	assert_cut("database", 7, "databa~");
	assert_cut("database", 1, "~");
	assert_cut("database", 0, "");
	/* a wide character is not split, nor is an escape */
	assert_cut("\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97");
	assert_cut("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2~");
	assert_cut("a\033b", 4, "a~");
}

static void test_lines_stay_lines(void **state)
{
	(void)state;

	char *buf = NULL;
	size_t size = 0;
	FILE *const f = open_memstream(&buf, &size);

	printable_lines(f, "a\n\tb\033\n");
	fclose(f);
	assert_string_equal(buf, "a\n\tb\\x1b\n");
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_characters_are_escaped),
		cmocka_unit_test(test_what_turns_text_around_is_escaped),
		cmocka_unit_test(test_what_is_no_utf8_is_escaped),
		cmocka_unit_test(test_width_is_that_on_the_screen),
		cmocka_unit_test(test_what_is_too_wide_is_cut_with_a_mark),
		cmocka_unit_test(test_lines_stay_lines),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, utf8, NULL);
}
