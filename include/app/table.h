/* table.h - column descriptors: a table is written once and shown many ways.
 * SPDX-License-Identifier: ISC */
#ifndef APP_TABLE_H
#define APP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct app;
struct writer;

enum column_type { COL_TEXT, COL_INT4, COL_INT8, COL_NUMERIC, COL_BYTEA,
	COL_TIME /* text; the number is a usec_t of the monotonic clock */ };

struct column {
	const char *name;
	enum column_type type;
};

/* One cell, as a view fills it. */
struct cell {
	enum { CELL_NULL, CELL_TEXT, CELL_NUMBER } kind;
	const char *text;	/* borrowed until the row is emitted */
	int64_t number;
};

static inline struct cell cell_text(const char *text)	/* NULL: SQL NULL */
{
	return (struct cell){ .kind = text == NULL ? CELL_NULL : CELL_TEXT,
		.text = text };
}

static inline struct cell cell_number(int64_t number)
{
	return (struct cell){ .kind = CELL_NUMBER, .number = number };
}

/* Where rows go: the console, /metrics, the status page. */
struct row_sink {
	/* cells has one entry per column. Returns non-zero to stop. */
	int (*row)(struct row_sink *sink, const struct cell *cells);
};

struct view {
	const char *topic;		/* "POOLS" */
	const struct column *columns;
	size_t column_count;
	/* Emit all rows in the spec's order. */
	void (*rows)(struct app *app, const struct view *v,
	    struct row_sink *sink);
	int variant;			/* for views that share a function */
	bool setting;	/* one of PostgreSQL's settings, for its clients */
};

/* NULL: no such topic; case-insensitive. */
const struct view *view_find(const char *topic);
/* All of them in the order of SHOW HELP; NULL: i is past the last. */
const struct view *view_at(size_t i);

/* RowDescription, and DataRow in text format. */
void table_write_description(struct writer *w, const struct view *v);
void table_write_row(struct writer *w, const struct view *v,
    const struct cell *cells);

#endif
