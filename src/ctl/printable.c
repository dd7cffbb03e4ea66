/* printable.c - text of others, made fit for a terminal.
 * SPDX-License-Identifier: ISC */
#include "ctl/printable.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "base/text.h"

/* The code point of a valid character of n bytes. */
static uint32_t code_point(const char *s, size_t n)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)s[0] & masks[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

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

/* Does c turn the following text around, so that it reads otherwise? */
static bool is_bidi(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

const char *printable_next(const char *s, struct glyph *g)
{
	const size_t n = text_character(s);

	if (n == 0 || text_control(s, n) > 0 || is_bidi(code_point(s, n))) {
		escape(g, s, n > 0 ? n : 1);
		return s + (n > 0 ? n : 1);
	}
	const int width = n == 1 ? 1 : wcwidth((wchar_t)code_point(s, n));

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
