/* board.c - the lists of status and top: which columns, how wide, in what
 * order.
 * SPDX-License-Identifier: ISC */
#include "ctl/board.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "ctl/grid.h"
#include "ctl/status.h"
#include "ctl/terminal.h"

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
		{ "wait_reason", "STATE", BOARD_STATE, 24 },
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
		{ "transaction_us", "IN XACT", BOARD_WAIT, 0 },
		{ "server_pid", "PID", BOARD_NUMBER, 0 },
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
		{ "transaction_us", "IN XACT", BOARD_WAIT, 0 },
		{ "client", "CLIENT", BOARD_TEXT, 24 },
		{ "application_name", "APPLICATION", BOARD_TEXT, 20 },
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

/* 'it''s' */
static void add_literal(struct text *t, const char *s)
{
	text_add(t, "'");
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			text_add(t, "'");
		text_add_bytes(t, s, 1);
	}
	text_add(t, "'");
}

void board_query(const struct board *b, const struct board_wish *w,
    struct text *t)
{
	text_addf(t, "SELECT * FROM %s", b->topic);
	if (w->database != NULL) {
		text_add(t, " WHERE database = ");
		add_literal(t, w->database);
		text_add(t, " AND user = ");
		add_literal(t, w->user);
	}
	if (b->capped)
		text_addf(t, " ORDER BY %s%s", b->columns[w->sort].source,
		    w->descending ? " DESC" : "");
	if (b->capped && !w->all)
		text_addf(t, " LIMIT %d", BOARD_ROWS);
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

static bool is_value(const struct grid *g, size_t row, const char *column,
    const char *wanted)
{
	const char *const found = grid_cell(g, row, grid_column(g, column));

	return found != NULL && strcmp(found, wanted) == 0;
}

/* The first finding about the pool of a row; SIZE_MAX: there is none. */
static size_t finding_of(const struct board_data *d, size_t row)
{
	const struct grid *const f = d->findings;

	for (size_t i = 1; f != NULL && i < f->rows; i++) {
		if (is_value(f, i, "database", value(d, row, "database")) &&
		    (grid_cell(f, i, grid_column(f, "user")) == NULL ||
		    is_value(f, i, "user", value(d, row, "user"))))
			return i;
	}
	return SIZE_MAX;
}

/* "pool_size", "no server 12 s", "paused", "ok" */
static void add_state(const struct board_data *d, size_t row, struct text *t)
{
	const size_t i = finding_of(d, row);
	const int64_t seconds = i == SIZE_MAX ? 0 :
	    grid_number(d->findings, i, "seconds");

	if (value(d, row, "wait_reason")[0] != '\0') {
		text_add(t, value(d, row, "wait_reason"));
	} else if (i != SIZE_MAX) {
		text_add(t, grid_cell(d->findings, i,
		    grid_column(d->findings, "reason")));
		if (seconds > 0)
			text_addf(t, " %lld s", (long long)seconds);
	} else {
		text_add(t, "ok");
	}
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
	case BOARD_STATE:
		add_state(d, row, t);
		break;
	}
}

/* --- layout --- */

static bool is_right(const struct board_column *c)
{
	return c->kind != BOARD_TEXT && c->kind != BOARD_PEER &&
	    c->kind != BOARD_STATE;
}

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
	if (last >= 0 && left > 0 && !is_right(&d->board->columns[last]))
		widths[last] += left;
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
	return finding_of(d, row) != SIZE_MAX;
}

/* Keep this row as the next of those that stay. */
static void keep(struct grid *g, size_t row, size_t *kept)
{
	memmove(g->cells + *kept * g->columns, g->cells + row * g->columns,
	    g->columns * sizeof(*g->cells));
	(*kept)++;
}

size_t board_hide_console(struct grid *g)
{
	const int database = grid_column(g, "database");
	size_t kept = 0;

	for (size_t r = 0; r < g->rows && database >= 0; r++) {
		const char *const name = grid_cell(g, r, database);

		if (name == NULL || strcmp(name, "pgbouncer") != 0)
			keep(g, r, &kept);
	}
	if (database >= 0)
		g->rows = kept;
	return g->rows;
}

static bool has_text(const struct grid *g, size_t row, const char *text)
{
	for (size_t c = 0; c < g->columns; c++) {
		const char *const cell = grid_cell(g, row, (int)c);

		if (cell != NULL && strcasestr(cell, text) != NULL)
			return true;
	}
	return false;
}

void board_filter(struct grid *g, const char *text)
{
	size_t kept = 0;

	for (size_t r = 0; r < g->rows; r++) {
		if (has_text(g, r, text))
			keep(g, r, &kept);
	}
	g->rows = kept;
}

/* --- one row --- */

void board_key(const struct board_data *d, size_t row, struct text *t)
{
	text_addf(t, "%s/%s/%s", value(d, row, "id"),
	    value(d, row, "database"), value(d, row, "user"));
}

void board_describe(const struct board_data *d, size_t row, struct text *t)
{
	const size_t n = board_width(d->board), i = finding_of(d, row);

	for (size_t c = 0; c < n; c++) {
		char cell[CELL_MAX];
		struct text x;

		text_init(&x, cell, sizeof(cell));
		board_cell(d, (int)c, row, &x);
		if (cell[0] != '\0' && strcmp(cell, "0") != 0)
			text_addf(t, "%s%s %s", t->len > 0 ? "  " : "",
			    d->board->columns[c].title, cell);
	}
	if (i != SIZE_MAX) {
		text_add(t, "  ");
		summary_add_finding(t, d->findings, i);
	}
}
