/* sheet.h - a grid on paper: aligned, record by record, CSV.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_SHEET_H
#define CTL_SHEET_H

#include <stdbool.h>
#include <stdio.h>

struct grid;

struct sheet {
	FILE *out;
	int columns;		/* of the screen; 0: no matter */
	bool terminal;		/* nothing may move its cursor */
	bool colour;		/* headings are bold */
};

/* Aligned; record by record where that is too wide. */
void sheet_table(const struct sheet *s, const struct grid *g);

/* RFC 4180, with "\n" as line end and a line of names. */
void sheet_csv(const struct sheet *s, const struct grid *g);

/* JSON text as it is, but for control characters: \u001b. And a newline. */
void sheet_json(const struct sheet *s, const char *json);

#endif
