/* board.c - the lists of status and top: which columns, how wide, in what order.
 * SPDX-License-Identifier: ISC */
#include "ctl/board.h"

#include <string.h>

#include "base/text.h"
#include "ctl/grid.h"
#include "ctl/printable.h"
#include "ctl/summary.h"

#define CELL_MAX 512
#define GAP 1			/* blanks between columns */
#define NAME_MAX_WIDTH 16

static const struct board boards[] = {
	{ "pools", '1', "pools", 2, true, false, {
		{ "database", "DATABASE", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "user", "USER", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "cl_waiting", "QUEUE", BOARD_NUMBER, 0 },
		{ "wait_us", "WAIT", BOARD_WAIT, 0 },
		{ "sv_active", "BUSY/SIZE", BOARD_USE, 0 },
		{ "sv_idle", "IDLE", BOARD_NUMBER, 0 },
		{ "cl_active", "CLIENTS", BOARD_NUMBER, 0 },
		{ "wait_reason", "REASON", BOARD_TEXT, 20 },
		{ "sv_login", "LOGIN", BOARD_NUMBER, 0 },
		{ "sv_used", "USED", BOARD_NUMBER, 0 },
		{ "sv_tested", "TESTED", BOARD_NUMBER, 0 },
		{ "pool_mode", "MODE", BOARD_TEXT, 11 },
	} },
	{ "clients", '2', "clients", 3, true, true, {
		{ "database", "DATABASE", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "user", "USER", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "state", "STATE", BOARD_TEXT, 8 },
		{ "waited_us", "QUEUED", BOARD_WAIT, 0 },
		{ "id", "ID", BOARD_NUMBER, 0 },
		{ "addr", "FROM", BOARD_PEER, 24 },
		{ "application_name", "APPLICATION", BOARD_TEXT, 20 },
		{ "wait_reason", "REASON", BOARD_TEXT, 20 },
		{ "request_time", "LAST REQUEST", BOARD_TEXT, 23 },
		{ "connect_time", "CONNECTED", BOARD_TEXT, 23 },
		{ "tls", "TLS", BOARD_TEXT, 0 },
	} },
	{ "servers", '3', "servers", 2, false, true, {
		{ "database", "DATABASE", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "user", "USER", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "state", "STATE", BOARD_TEXT, 9 },
		{ "addr", "SERVER", BOARD_PEER, 24 },
		{ "remote_pid", "PID", BOARD_NUMBER, 0 },
		{ "id", "ID", BOARD_NUMBER, 0 },
		{ "request_time", "LAST REQUEST", BOARD_TEXT, 23 },
		{ "connect_time", "CONNECTED", BOARD_TEXT, 23 },
		{ "tls", "TLS", BOARD_TEXT, 0 },
	} },
	{ "waits", '4', "waits", 3, true, false, {
		{ "database", "DATABASE", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "user", "USER", BOARD_TEXT, NAME_MAX_WIDTH },
		{ "clients", "QUEUE", BOARD_NUMBER, 0 },
		{ "wait_us", "WAIT", BOARD_WAIT, 0 },
		{ "wait_reason", "REASON", BOARD_TEXT, 20 },
		{ "setting", "SETTING", BOARD_TEXT, 24 },
		{ "detail", "DETAIL", BOARD_TEXT, 0 },
	} },
};

const struct board *board_at(size_t i)
{
	return i < sizeof(boards) / sizeof(*boards) ? &boards[i] : NULL;
}

size_t board_width(const struct board *b)
{
	size_t n = 0;

	while (n < BOARD_COLUMNS && b->columns[n].title != NULL)
		n++;
	return n;
}

void board_query(const struct board *b, int sort, bool descending,
    struct text *t)
{
	text_addf(t, "SELECT * FROM %s", b->topic);
	if (b->capped)
		text_addf(t, " ORDER BY %s%s LIMIT %d",
		    b->columns[sort].source, descending ? " DESC" : "",
		    BOARD_ROWS);
}

/* --- cells --- */

static const char *value(const struct board_data *d, size_t row,
    const char *column)
{
	const char *const text = grid_cell(d->rows, row,
	    grid_column(d->rows, column));

	return text != NULL ? text : "";
}

static void add_use(const struct board_data *d, size_t row, struct text *t)
{
	/* the pool's own; 0: no limit, or an older pooler */
	const int64_t size = grid_number(d->rows, row, "pool_size");

	text_addf(t, "%lld", (long long)grid_number(d->rows, row,
	    "sv_active"));
	if (size > 0)
		text_addf(t, "/%lld", (long long)size);
}

static void add_peer(const struct board_data *d, size_t row, struct text *t)
{
	const char *const addr = value(d, row, "addr");
	const bool v6 = strchr(addr, ':') != NULL;

	text_addf(t, "%s%s%s", v6 ? "[" : "", addr, v6 ? "]" : "");
	if (strcmp(addr, "unix") != 0)
		text_addf(t, ":%s", value(d, row, "port"));
}

void board_cell(const struct board_data *d, int column, size_t row,
    struct text *t)
{
	const struct board_column *const c = &d->board->columns[column];

	switch (c->kind) {
	case BOARD_TEXT:
	case BOARD_NUMBER:
		text_add(t, value(d, row, c->source));
		break;
	case BOARD_WAIT:
		summary_add_wait(t, grid_number(d->rows, row, c->source));
		break;
	case BOARD_USE:
		add_use(d, row, t);
		break;
	case BOARD_PEER:
		add_peer(d, row, t);
		break;
	}
}

/* --- layout --- */

static int content_width(const struct board_data *d, int column)
{
	const struct board_column *const c = &d->board->columns[column];
	/* one more, for the mark of the order */
	int width = (int)strlen(c->title) + 1;

	for (size_t r = 0; r < d->rows->rows; r++) {
		char buf[CELL_MAX];
		struct text t;

		text_init(&t, buf, sizeof(buf));
		board_cell(d, column, r, &t);
		const int w = printable_width(buf);

		width = w > width ? w : width;
	}
	return c->most > 0 && width > c->most &&
	    c->most > (int)strlen(c->title) ? c->most : width;
}

void board_layout(const struct board_data *d, int columns,
    int widths[BOARD_COLUMNS])
{
	const int n = (int)board_width(d->board);
	int left = columns, last = -1;

	memset(widths, 0, BOARD_COLUMNS * sizeof(*widths));
	for (int c = 0; c < n; c++) {
		const int width = content_width(d, c);

		/* cut, but not so that nothing can be read */
		if (left < width && left < 8 && c > 0)
			break;
		widths[c] = width < left ? width : left;
		left -= widths[c] + GAP;
		last = c;
		if (left <= 0)
			break;
	}
	if (last >= 0 && left > 0 && d->board->columns[last].kind == BOARD_TEXT)
		widths[last] += left;
}

static bool is_right(const struct board_column *c)
{
	return c->kind != BOARD_TEXT && c->kind != BOARD_PEER;
}

static void add_blanks(struct text *t, int n)
{
	text_addf(t, "%*s", n > 0 ? n : 0, "");
}

static void add_field(struct text *t, const char *s, int width, bool right)
{
	const int w = printable_width(s);

	if (right)
		add_blanks(t, width - w);
	const int done = printable_add(t, s, width);

	if (!right)
		add_blanks(t, width - done);
}

void board_line(const struct board_line *l, const struct board_data *d,
    size_t row, struct text *t)
{
	for (int c = 0; c < BOARD_COLUMNS && l->widths[c] > 0; c++) {
		const struct board_column *const column =
		    &d->board->columns[c];
		char buf[CELL_MAX];
		struct text cell;

		text_init(&cell, buf, sizeof(buf));
		if (row == SIZE_MAX)
			text_addf(&cell, "%s%s", column->title,
			    c != l->sort ? "" : l->descending ? "v" : "^");
		else
			board_cell(d, c, row, &cell);
		add_blanks(t, c > 0 ? GAP : 0);
		add_field(t, buf, l->widths[c], is_right(column));
	}
}

bool board_is_alarming(const struct board_data *d, size_t row)
{
	static const char *const queues[] = { "cl_waiting", "waited_us",
		"wait_us" };

	for (size_t i = 0; i < sizeof(queues) / sizeof(*queues); i++) {
		if (grid_number(d->rows, row, queues[i]) > 0)
			return true;
	}
	return false;
}

size_t board_hide_console(struct grid *g)
{
	const int database = grid_column(g, "database");
	size_t kept = 0;

	for (size_t r = 0; r < g->rows && database >= 0; r++) {
		const char *const name = grid_cell(g, r, database);

		if (name != NULL && strcmp(name, "pgbouncer") == 0)
			continue;
		memmove(g->cells + kept * g->columns, g->cells +
		    r * g->columns, g->columns * sizeof(*g->cells));
		kept++;
	}
	if (database >= 0)
		g->rows = kept;
	return g->rows;
}
