/* grid.c - rows and columns of text that the console has answered, and how
 * they are printed.
 * SPDX-License-Identifier: ISC */
#include "ctl/grid.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "ctl/terminal.h"

int grid_init(struct grid *g, size_t columns, size_t rows)
{
	*g = (struct grid){ .columns = columns, .rows = rows };
	g->names = mem_zalloc((columns + 1) * sizeof(*g->names));
	g->cells = mem_zalloc((columns * rows + 1) * sizeof(*g->cells));
	g->numeric = mem_zalloc((columns + 1) * sizeof(*g->numeric));
	if (g->names != NULL && g->cells != NULL && g->numeric != NULL)
		return 0;
	grid_fini(g);
	return -1;
}

void grid_fini(struct grid *g)
{
	mem_free(g->names);
	mem_free(g->cells);
	mem_free(g->numeric);
	*g = (struct grid){ 0 };
}

int grid_column(const struct grid *g, const char *name)
{
	for (size_t i = 0; i < g->columns; i++) {
		if (strcmp(g->names[i], name) == 0)
			return (int)i;
	}
	return -1;
}

const char *grid_cell(const struct grid *g, size_t row, int column)
{
	return column < 0 || row >= g->rows ? NULL :
	    g->cells[row * g->columns + (size_t)column];
}

static int64_t number(const char *text)
{
	int64_t n = 0;

	if (text != NULL)
		(void)num_parse_i64(text, &n);
	return n;
}

int64_t grid_number(const struct grid *g, size_t row, const char *column)
{
	return number(grid_cell(g, row, grid_column(g, column)));
}

const char *grid_value(const struct grid *g, const char *key)
{
	for (size_t i = 0; i < g->rows; i++) {
		const char *const k = grid_cell(g, i, 0);

		if (k != NULL && strcmp(k, key) == 0)
			return grid_cell(g, i, 1);
	}
	return NULL;
}

/* --- order --- */

struct order {
	const struct grid *g;
	int column;
	bool descending;
};

static int compare(const struct order *o, size_t a, size_t b)
{
	const char *const x = grid_cell(o->g, a, o->column);
	const char *const y = grid_cell(o->g, b, o->column);

	if (x == NULL || y == NULL)	/* whatever the direction */
		return (x == NULL) - (y == NULL);
	int by = strcmp(x, y);

	if (o->g->numeric[o->column]) {
		const int64_t m = number(x), n = number(y);

		by = (m > n) - (m < n);
	}
	return o->descending ? -by : by;
}

/* From the two runs at from and at middle to to. */
static void merge(const struct order *o, const size_t *from, size_t *to,
    const size_t at[3])
{
	size_t a = at[0], b = at[1];

	for (size_t i = at[0]; i < at[2]; i++) {
		const bool first = a < at[1] &&
		    (b >= at[2] || compare(o, from[a], from[b]) <= 0);

		to[i] = first ? from[a++] : from[b++];
	}
}

/* Stable merge sort, bottom up. Returns where the result is. */
static size_t *sort(const struct order *o, size_t *from, size_t *to)
{
	const size_t n = o->g->rows;

	for (size_t run = 1; run < n; run *= 2) {
		for (size_t i = 0; i < n; i += 2 * run) {
			const size_t mid = i + run < n ? i + run : n;
			const size_t end = mid + run < n ? mid + run : n;

			merge(o, from, to, (const size_t[]){ i, mid, end });
		}
		size_t *const swap = from;
		from = to;
		to = swap;
	}
	return from;
}

int grid_sort(struct grid *g, int column, bool descending)
{
	const struct order o = { g, column, descending };
	size_t *const rows = mem_alloc((2 * g->rows + 1) * sizeof(*rows));
	const char **const cells = mem_alloc((g->columns * g->rows + 1) *
	    sizeof(*cells));

	if (rows == NULL || cells == NULL || column < 0) {
		mem_free(rows);
		mem_free(cells);
		return column < 0 ? 0 : -1;
	}
	for (size_t i = 0; i < g->rows; i++)
		rows[i] = i;
	const size_t *const sorted = sort(&o, rows, rows + g->rows);

	for (size_t i = 0; i < g->rows; i++)
		memcpy(cells + i * g->columns, g->cells +
		    sorted[i] * g->columns, g->columns * sizeof(*cells));
	mem_free(rows);
	mem_free(g->cells);
	g->cells = cells;
	return 0;
}

#define GAP 2			/* blanks between columns */

static const char *cell(const struct grid *g, size_t row, size_t column)
{
	const char *const text = grid_cell(g, row, (int)column);

	return text != NULL ? text : "";
}

static void blanks(FILE *out, int n)
{
	fprintf(out, "%*s", n > 0 ? n : 0, "");
}

static void bold(const struct sheet *s, bool on)
{
	if (s->colour)
		fputs(on ? "\033[1m" : "\033[0m", s->out);
}

/* --- aligned --- */

/* The widths of all columns. Returns that of a line; 0: out of memory. */
static int measure(const struct grid *g, int *widths)
{
	int line = 0;

	for (size_t c = 0; c < g->columns; c++) {
		widths[c] = printable_width(g->names[c]);
		for (size_t r = 0; r < g->rows; r++) {
			const int w = printable_width(cell(g, r, c));

			if (w > widths[c])
				widths[c] = w;
		}
		line += widths[c] + (c > 0 ? GAP : 0);
	}
	return line;
}

static void put_line(const struct sheet *s, const struct grid *g,
    const int *widths, size_t row)
{
	for (size_t c = 0; c < g->columns; c++) {
		const char *const text = row == SIZE_MAX ? g->names[c] :
		    cell(g, row, c);
		const int rest = widths[c] - printable_width(text);

		if (g->numeric[c])
			blanks(s->out, rest);
		printable_put(s->out, text);
		/* nothing behind the last one */
		if (c + 1 < g->columns)
			blanks(s->out, (g->numeric[c] ? 0 : rest) + GAP);
	}
	putc('\n', s->out);
}

static void put_aligned(const struct sheet *s, const struct grid *g,
    const int *widths)
{
	bold(s, true);
	put_line(s, g, widths, SIZE_MAX);
	bold(s, false);
	for (size_t r = 0; r < g->rows; r++)
		put_line(s, g, widths, r);
}

/* --- record by record --- */

static void put_records(const struct sheet *s, const struct grid *g)
{
	int width = 0;

	for (size_t c = 0; c < g->columns; c++) {
		const int w = printable_width(g->names[c]);

		width = w > width ? w : width;
	}
	for (size_t i = 0; i < g->rows * g->columns; i++) {
		const size_t r = i / g->columns, c = i % g->columns;

		if (c == 0 && r > 0)
			putc('\n', s->out);
		bold(s, true);
		blanks(s->out, width - printable_width(g->names[c]));
		printable_put(s->out, g->names[c]);
		bold(s, false);
		blanks(s->out, *cell(g, r, c) != '\0' ? GAP : 0);
		printable_put(s->out, cell(g, r, c));
		putc('\n', s->out);
	}
}

void sheet_table(const struct sheet *s, const struct grid *g)
{
	int *const widths = mem_alloc((g->columns + 1) * sizeof(*widths));

	if (widths != NULL && (measure(g, widths) <= s->columns ||
	    s->columns == 0 || g->rows == 0))
		put_aligned(s, g, widths);
	else
		put_records(s, g);
	mem_free(widths);
}

/* --- CSV --- */

static void put_csv(const struct sheet *s, const char *text)
{
	const bool quote = strpbrk(text, ",\"\r\n") != NULL;
	struct glyph g;

	if (quote)
		putc('"', s->out);
	while (*text != '\0') {
		if (*text == '"')
			putc('"', s->out);
		const char *const next = printable_next(text, &g);

		if (s->terminal)
			fwrite(g.at, 1, g.len, s->out);
		else
			fwrite(text, 1, (size_t)(next - text), s->out);
		text = next;
	}
	if (quote)
		putc('"', s->out);
}

void sheet_csv(const struct sheet *s, const struct grid *g)
{
	for (size_t c = 0; c < g->columns; c++) {
		fputs(c > 0 ? "," : "", s->out);
		put_csv(s, g->names[c]);
	}
	putc('\n', s->out);
	for (size_t r = 0; r < g->rows; r++) {
		for (size_t c = 0; c < g->columns; c++) {
			fputs(c > 0 ? "," : "", s->out);
			put_csv(s, cell(g, r, c));
		}
		putc('\n', s->out);
	}
}

/* --- JSON --- */

void sheet_json(const struct sheet *s, const char *json)
{
	while (*json != '\0') {
		const size_t len = text_character(json);
		const size_t n = len > 0 ? len : 1;

		if (len == 0)
			fputs("\\ufffd", s->out);
		else if (*json != '\n' && text_control(json, n) > 0)
			fprintf(s->out, "\\u%04x",
			    (unsigned)text_code_point(json, n));
		else
			fwrite(json, 1, n, s->out);
		json += n;
	}
	putc('\n', s->out);
}
