/* test_sheet.c - a grid as a table, as records, as CSV and JSON.
 * SPDX-License-Identifier: ISC */
#include "ctl/sheet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/grid.h"
#include "ctl/terminal.h"

static int utf8(void **state)
{
	(void)state;
	terminal_locale();
	return 0;
}

static struct grid sample(void)
{
	static const char *const cells[] = {
		"shop", "5", "pool_size",
		"a \"b\",\033", "12", NULL,
	};
	struct grid g;

	assert_int_equal(grid_init(&g, 3, 2), 0);
	g.names[0] = "database";
	g.names[1] = "n";
	g.names[2] = "why";
	g.numeric[1] = true;
	memcpy(g.cells, cells, sizeof(cells));
	return g;
}

static void assert_sheet(void (*put)(const struct sheet *s,
    const struct grid *g), struct sheet s, const char *want)
{
	struct grid g = sample();
	char *buf = NULL;
	size_t size = 0;

	s.out = open_memstream(&buf, &size);
	put(&s, &g);
	fclose(s.out);
	assert_string_equal(buf, want);
	free(buf);
	grid_fini(&g);
}

static void test_columns_are_aligned(void **state)
{
	(void)state;

	assert_sheet(sheet_table, (struct sheet){ .columns = 0 },
	    "database     n  why\n"
	    "shop         5  pool_size\n"
	    "a \"b\",\\x1b  12  \n");
}

static void test_headings_are_bold_where_colours_are(void **state)
{
	(void)state;

	assert_sheet(sheet_table, (struct sheet){ .colour = true },
	    "\033[1mdatabase     n  why\n\033[0m"
	    "shop         5  pool_size\n"
	    "a \"b\",\\x1b  12  \n");
}

static void test_too_narrow_a_screen_gets_records(void **state)
{
	(void)state;

	assert_sheet(sheet_table, (struct sheet){ .columns = 25 },
	    "database     n  why\n"
	    "shop         5  pool_size\n"
	    "a \"b\",\\x1b  12  \n");
	assert_sheet(sheet_table, (struct sheet){ .columns = 24 },
	    "database  shop\n"
	    "       n  5\n"
	    "     why  pool_size\n"
	    "\n"
	    "database  a \"b\",\\x1b\n"
	    "       n  12\n"
	    "     why\n");
}

static void test_csv_is_quoted_and_true_to_the_byte(void **state)
{
	(void)state;

	assert_sheet(sheet_csv, (struct sheet){ .terminal = false },
	    "database,n,why\nshop,5,pool_size\n\"a \"\"b\"\",\033\",12,\n");
}

static void test_csv_on_a_terminal_moves_no_cursor(void **state)
{
	(void)state;

	assert_sheet(sheet_csv, (struct sheet){ .terminal = true },
	    "database,n,why\nshop,5,pool_size\n\"a \"\"b\"\",\\x1b\",12,\n");
}

static void test_json_stays_json_without_control_characters(void **state)
{
	(void)state;

	char *buf = NULL;
	size_t size = 0;
	struct sheet s = { .out = open_memstream(&buf, &size) };

	sheet_json(&s, "[{\"a\":\"\xc3\xa9\033\x7f\xc2\x9b\xff\"}]");
	fclose(s.out);
	assert_string_equal(buf, "[{\"a\":\"\xc3\xa9\\u001b\\u007f\\u009b"
	    "\\ufffd\"}]\n");
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_are_aligned),
		cmocka_unit_test(test_headings_are_bold_where_colours_are),
		cmocka_unit_test(test_too_narrow_a_screen_gets_records),
		cmocka_unit_test(test_csv_is_quoted_and_true_to_the_byte),
		cmocka_unit_test(test_csv_on_a_terminal_moves_no_cursor),
		cmocka_unit_test(
		    test_json_stays_json_without_control_characters),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, utf8, NULL);
}
