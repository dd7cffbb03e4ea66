/* printable.c - text of others, made fit for a terminal.
 * SPDX-License-Identifier: ISC */
#include "ctl/printable.h"

#include <limits.h>
#include <stdbool.h>
#include <wchar.h>

#include "base/text.h"

static void escape(struct glyph *g, const char *s, size_t n)
{
	struct text t;

	text_init(&t, g->escape, sizeof(g->escape));
	if (*s == '\n' || *s == '\t') {
		text_add(&t, *s == '\n' ? "\\n" : "\\t");
	} else {
		for (size_t i = 0; i < n; i++)
			text_addf(&t, "\\x%02x", (unsigned char)s[i]);
	}
	g->at = g->escape;
	g->len = t.len;
	g->width = (int)t.len;
}

const char *printable_next(const char *s, struct glyph *g)
{
	const size_t n = text_character(s);

	if (n == 0 || text_control(s, n) > 0) {
		escape(g, s, n > 0 ? n : 1);
		return s + (n > 0 ? n : 1);
	}
	const int width = n == 1 ? 1 : wcwidth((wchar_t)text_code_point(s, n));

	g->at = s;
	g->len = n;
	g->width = width >= 0 ? width : 1;
	return s + n;
}

int printable_width(const char *s)
{
	struct glyph g;
	int width = 0;

	while (*s != '\0' && width < INT_MAX / 2) {
		s = printable_next(s, &g);
		width += g.width;
	}
	return width;
}

void printable_put(FILE *out, const char *s)
{
	struct glyph g;

	while (*s != '\0') {
		s = printable_next(s, &g);
		fwrite(g.at, 1, g.len, out);
	}
}

int printable_add(struct text *t, const char *s, int columns)
{
	const bool whole = printable_width(s) <= columns;
	const int room = whole ? columns : columns - 1;
	struct glyph g;
	int width = 0;

	while (*s != '\0') {
		s = printable_next(s, &g);
		if (width + g.width > room)
			break;
		text_add_bytes(t, g.at, g.len);
		width += g.width;
	}
	if (whole || columns < 1)
		return width;
	text_add(t, "~");
	return width + 1;
}

void printable_lines(FILE *out, const char *s)
{
	struct glyph g;

	while (*s != '\0') {
		const char *const next = printable_next(s, &g);

		if (*s == '\n' || *s == '\t')
			putc(*s, out);
		else
			fwrite(g.at, 1, g.len, out);
		s = next;
	}
}
