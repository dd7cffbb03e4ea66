/* printable.h - text of others, made fit for a terminal.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_PRINTABLE_H
#define CTL_PRINTABLE_H

#include <stdio.h>

struct text;

/* One character, as it is shown. */
struct glyph {
	const char *at;		/* borrowed from the text, or from escape */
	size_t len;		/* bytes */
	int width;		/* columns */
	char escape[16];	/* "\xe2\x80\xae" is the longest */
};

/*
 * The character at s, which is not the end. Control characters (C0, DEL, C1;
 * marks that set the direction of text) and bytes that are not UTF-8 are shown
 * as \n, \t or \x1b. Returns the place behind.
 */
const char *printable_next(const char *s, struct glyph *g);

/* How many columns s takes. */
int printable_width(const char *s);

/* Put all of s out. */
void printable_put(FILE *out, const char *s);

/* Add s, of at most columns; what is cut ends in "~". Returns the width. */
int printable_add(struct text *t, const char *s, int columns);

/* The same; line ends and tabs stay. */
void printable_lines(FILE *out, const char *s);

#endif
