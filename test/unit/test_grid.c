/* test_grid.c - rows and columns of text.
 * SPDX-License-Identifier: ISC */
#include "ctl/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ctl/terminal.h"

/* Names, numbers, and what may be NULL. */
static void fill(struct grid *g)
{
	static const char *const cells[] = {
		"b", "10", NULL,
		"a", "9", "x",
		"c", "-1", NULL,
		"d", "9", "w",
	};

	assert_int_equal(grid_init(g, 3, 4), 0);
	g->names[0] = "name";
	g->names[1] = "size";
	g->names[2] = "note";
	g->numeric[1] = true;
	memcpy(g->cells, cells, sizeof(cells));
}

static void assert_order(const struct grid *g, const char *want)
{
	for (size_t i = 0; i < g->rows; i++)
		assert_int_equal(grid_cell(g, i, 0)[0], want[i]);
}

static void test_numbers_are_ordered_as_numbers(void **state)
{
	(void)state;

	struct grid g;

	fill(&g);
	assert_int_equal(grid_sort(&g, 1, false), 0);
	assert_order(&g, "cadb");
	assert_int_equal(grid_sort(&g, 1, true), 0);
	assert_order(&g, "badc");
	grid_fini(&g);
}

static void test_equal_rows_keep_their_order(void **state)
{
	(void)state;

	struct grid g;

	fill(&g);
	assert_int_equal(grid_sort(&g, 0, true), 0);
	assert_order(&g, "dcba");
	assert_int_equal(grid_sort(&g, 1, true), 0);
	assert_order(&g, "bdac");
	grid_fini(&g);
}

static void test_null_is_last_either_way(void **state)
{
	(void)state;

	struct grid g;

	fill(&g);
	assert_int_equal(grid_sort(&g, 2, false), 0);
	assert_order(&g, "dabc");
	assert_int_equal(grid_sort(&g, 2, true), 0);
	assert_order(&g, "adbc");
	grid_fini(&g);
}

static void test_no_such_column_changes_nothing(void **state)
{
	(void)state;

	struct grid g;

	fill(&g);
	assert_int_equal(grid_column(&g, "ghost"), -1);
	assert_int_equal(grid_sort(&g, -1, false), 0);
	assert_order(&g, "bacd");
	assert_null(grid_cell(&g, 0, -1));
	assert_null(grid_cell(&g, 4, 0));
	assert_int_equal(grid_number(&g, 0, "ghost"), 0);
	grid_fini(&g);
}

static void test_values_are_found_by_their_keys(void **state)
{
	(void)state;

	struct grid g;

	fill(&g);
	assert_string_equal(grid_value(&g, "c"), "-1");
	assert_null(grid_value(&g, "ghost"));
	assert_int_equal(grid_number(&g, 0, "size"), 10);
	assert_int_equal(grid_number(&g, 0, "name"), 0);
	grid_fini(&g);
}

static void test_without_memory_the_order_stays(void **state)
{
	(void)state;

	struct grid g;

	fill(&g);
	for (unsigned long i = 1; i <= 2; i++) {
		mem_fail_at(i);
		assert_int_equal(grid_sort(&g, 1, false), -1);
		assert_order(&g, "bacd");
	}
	mem_fail_at(0);
	grid_fini(&g);
	mem_fail_at(2);
	assert_int_equal(grid_init(&g, 2, 2), -1);
	mem_fail_at(0);
}

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
		cmocka_unit_test(test_numbers_are_ordered_as_numbers),
		cmocka_unit_test(test_equal_rows_keep_their_order),
		cmocka_unit_test(test_null_is_last_either_way),
		cmocka_unit_test(test_no_such_column_changes_nothing),
		cmocka_unit_test(test_values_are_found_by_their_keys),
		cmocka_unit_test(test_without_memory_the_order_stays),
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
