/* grid.h - rows and columns of text that the console has answered, and how
 * they are printed.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_GRID_H
#define CTL_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct grid {
	size_t columns, rows;
	const char **names;	/* owned array; the texts are the source's */
	const char **cells;	/* row by row; NULL: SQL NULL */
	bool *numeric;		/* owned: of each column */
	void *source;		/* owned by the grid's filler */
};

/* Room for so much; 0, or -1 out of memory. */
int grid_init(struct grid *g, size_t columns, size_t rows);
void grid_fini(struct grid *g);	/* leaves source alone */

/* The column of this name, or -1. */
int grid_column(const struct grid *g, const char *name);

/* NULL: SQL NULL, or there is no such column. */
const char *grid_cell(const struct grid *g, size_t row, int column);

/* 0 where there is no number. */
int64_t grid_number(const struct grid *g, size_t row, const char *column);

/* The value of a list of keys and values; or NULL. */
const char *grid_value(const struct grid *g, const char *key);

/*
 * Order the rows: numbers as such, all else byte by byte, NULL last; equal ones
 * stay as they are. 0, or -1 out of memory.
 */
int grid_sort(struct grid *g, int column, bool descending);

/* A grid on paper: aligned, record by record, CSV. */

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
