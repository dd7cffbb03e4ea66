/* sheet.c - a grid on paper: aligned, record by record, CSV.
 * SPDX-License-Identifier: ISC */
#include "ctl/sheet.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "ctl/grid.h"
#include "ctl/printable.h"

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
