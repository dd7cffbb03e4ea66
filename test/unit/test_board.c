/* test_board.c - the lists of status and top.
 * SPDX-License-Identifier: ISC */
#include "ctl/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "ctl/grid.h"

static const char *pool_names[] = { "database", "user", "cl_waiting",
	"wait_us", "sv_active", "sv_idle", "cl_active", "sv_login", "sv_used",
	"sv_tested", "pool_mode", "wait_reason",
	"pool_size" };

static const char *finding_names[] = { "state", "reason", "database", "user",
	"seconds", "detail" };
static const char *finding_cells[] = {
	"degraded", NULL, NULL, NULL, NULL, NULL,
	"degraded", "no server", "a_database_with_a_long_name", "ann", "12",
	"connect failed",
	"degraded", "paused", "shop", NULL, NULL, NULL,
};
static const struct grid findings = { 6, 3, finding_names, finding_cells,
	NULL, NULL };

/* Two pools and the console's own. */
struct pools {
	const char *cells[3 * 13];
	struct grid rows;
	struct board_data data;
};

static void fill(struct pools *p)
{
	static const char *const cells[] = {
		"shop", "app", "5", "1500000", "20", "0", "25", "0", "0", "0",
		"transaction", "pool_size", "20",
		"pgbouncer", "pgbouncer", "0", "0", "0", "0", "1", "0", "0",
		"0", "statement", NULL, "2",
		"a_database_with_a_long_name", "ann", "0", "0", "1", "2", "1",
		"0", "0", "0", "session", NULL, "0",
	};

	memcpy(p->cells, cells, sizeof(cells));
	p->rows = (struct grid){ 13, 3, pool_names, p->cells, NULL, NULL };
	p->data = (struct board_data){ board_at(0), &p->rows, NULL };
	board_hide_console(&p->rows);
}

static void assert_line(struct pools *p, int columns, size_t row,
    const char *want)
{
	int widths[BOARD_COLUMNS];
	const struct board_line line = { widths, 2, true };
	char buf[512];
	struct text t;

	board_layout(&p->data, columns, widths);
	text_init(&t, buf, sizeof(buf));
	board_line(&line, &p->data, row, &t);
	assert_string_equal(buf, want);
}

static void test_the_console_s_own_pool_is_hidden(void **state)
{
	(void)state;

	struct pools p;

	fill(&p);
	assert_int_equal(p.rows.rows, 2);
	assert_string_equal(grid_cell(&p.rows, 1, 1), "ann");
}

static void test_line_has_what_fits_and_no_more(void **state)
{
	(void)state;

	struct pools p;

	fill(&p);
	assert_line(&p, 51, SIZE_MAX,
	    "DATABASE         USER  QUEUEv  WAIT  BUSY/SIZE");
	assert_line(&p, 52, SIZE_MAX,
	    "DATABASE         USER  QUEUEv  WAIT  BUSY/SIZE  IDLE");
}

static void test_cells_are_aligned_and_cut(void **state)
{
	(void)state;

	struct pools p;

	fill(&p);
	assert_line(&p, 46, 0,
	    "shop             app        5 1.5 s      20/20");
	assert_line(&p, 46, 1,
	    "a_database_with~ ann        0     0          1");
}

static void test_narrow_screens_lose_columns_not_names(void **state)
{
	(void)state;

	struct pools p;
	int widths[BOARD_COLUMNS];

	fill(&p);
	board_layout(&p.data, 12, widths);
	assert_int_equal(widths[0], 12);
	assert_int_equal(widths[1], 0);
	assert_line(&p, 12, 1, "a_database_~");
	for (int columns = 1; columns < 300; columns++) {
		int sum = 0;

		board_layout(&p.data, columns, widths);
		for (int c = 0; c < BOARD_COLUMNS && widths[c] > 0; c++)
			sum += widths[c] + (c > 0);
		assert_in_range(sum, 1, columns);
	}
}

static void test_big_lists_are_ordered_and_capped_by_the_console(void **state)
{
	(void)state;

	char buf[256];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	board_query(board_at(1), &(struct board_wish){ .sort = 3,
	    .descending = true }, &t);
	assert_string_equal(buf, "SELECT * FROM clients ORDER BY waited_us "
	    "DESC LIMIT 1000");
	text_init(&t, buf, sizeof(buf));
	board_query(board_at(3), &(struct board_wish){ .sort = 0 }, &t);
	assert_string_equal(buf, "SELECT * FROM waits");
	text_init(&t, buf, sizeof(buf));
	board_query(board_at(2), &(struct board_wish){ .sort = 0, .all = true,
	    .database = "it's", .user = "a" }, &t);
	assert_string_equal(buf, "SELECT * FROM servers WHERE database = "
	    "'it''s' AND user = 'a' ORDER BY database");
	assert_null(board_at(4));
}

static void assert_peer(const char *addr, const char *port, const char *want)
{
	static const char *names[] = { "addr", "port" };
	const char *cells[] = { addr, port };
	const struct grid g = { 2, 1, names, cells, NULL, NULL };
	const struct board_data d = { board_at(2), &g, NULL };
	char buf[64];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	board_cell(&d, 3, 0, &t);
	assert_string_equal(buf, want);
}

static void test_addresses_have_their_port(void **state)
{
	(void)state;

	assert_peer("10.0.0.7", "5432", "10.0.0.7:5432");
	assert_peer("::1", "5432", "[::1]:5432");
	assert_peer("unix", "5432", "unix");
}

static void assert_state(struct pools *p, size_t row, const char *want)
{
	char buf[64];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	board_cell(&p->data, 7, row, &t);
	assert_string_equal(buf, want);
}

static void test_state_is_why_clients_wait_or_what_is_wrong(void **state)
{
	(void)state;

	struct pools p;

	fill(&p);
	assert_state(&p, 0, "pool_size");
	assert_state(&p, 1, "ok");
	p.data.findings = &findings;
	assert_state(&p, 0, "pool_size");
	assert_state(&p, 1, "no server 12 s");
	assert_true(board_is_alarming(&p.data, 1));
	p.cells[11] = NULL;
	assert_state(&p, 0, "paused");
}

static void test_row_is_told_in_full(void **state)
{
	(void)state;

	struct pools p;
	char buf[512];
	struct text t;

	fill(&p);
	p.data.findings = &findings;
	text_init(&t, buf, sizeof(buf));
	board_describe(&p.data, 1, &t);
	assert_string_equal(buf, "DATABASE a_database_with_a_long_name  "
	    "USER ann  BUSY/SIZE 1  IDLE 2  CLIENTS 1  STATE no server 12 s  "
	    "MODE session  pool a_database_with_a_long_name/ann: no server "
	    "for 12 s: connect failed");
	text_init(&t, buf, sizeof(buf));
	board_key(&p.data, 1, &t);
	assert_string_equal(buf, "/a_database_with_a_long_name/ann");
}

static void test_filter_leaves_rows_with_the_text(void **state)
{
	(void)state;

	struct pools p;

	fill(&p);
	board_filter(&p.rows, "SHO");
	assert_int_equal(p.rows.rows, 1);
	assert_string_equal(grid_cell(&p.rows, 0, 0), "shop");
	board_filter(&p.rows, "nobody");
	assert_int_equal(p.rows.rows, 0);
	fill(&p);
	board_filter(&p.rows, "");
	assert_int_equal(p.rows.rows, 2);
}

static void test_who_waits_is_alarming(void **state)
{
	(void)state;

	struct pools p;

	fill(&p);
	assert_true(board_is_alarming(&p.data, 0));
	assert_false(board_is_alarming(&p.data, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_console_s_own_pool_is_hidden),
		cmocka_unit_test(test_line_has_what_fits_and_no_more),
		cmocka_unit_test(test_cells_are_aligned_and_cut),
		cmocka_unit_test(test_narrow_screens_lose_columns_not_names),
		cmocka_unit_test(
		    test_big_lists_are_ordered_and_capped_by_the_console),
		cmocka_unit_test(test_addresses_have_their_port),
		cmocka_unit_test(
		    test_state_is_why_clients_wait_or_what_is_wrong),
		cmocka_unit_test(test_row_is_told_in_full),
		cmocka_unit_test(test_filter_leaves_rows_with_the_text),
		cmocka_unit_test(test_who_waits_is_alarming),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
