/* selection.h - the columns and rows of a view that were asked for.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_SELECTION_H
#define CONSOLE_SELECTION_H

#include "console/admin_parse.h"
#include "console/table.h"

struct admin;
struct err;

/* One condition, made ready. Its value is borrowed from the show_query. */
struct selection_test {
	uint8_t column;		/* of the view */
	enum show_op op;
	int64_t number;
	const char *text;
};

struct selection {
	const struct view *view;
	struct column columns[SHOW_COLUMNS_MAX];	/* of the result */
	uint8_t from[SHOW_COLUMNS_MAX];	/* which they are in the view */
	size_t count;
	struct selection_test tests[SHOW_WHERE_MAX];
	size_t test_count;
	int order;		/* column of the view; -1 = none */
	bool descending;
	int64_t limit;		/* -1 = none */
};

/* What is asked for: q must outlive the selection. */
struct selection_source {
	const struct view *view;
	const struct show_query *q;
	enum column_shape plain;	/* columns up to it, if q names none */
};

/* 0, or -1 with e: no such column, no number. */
int selection_make(struct selection *s, const struct selection_source *src,
    struct err *e);

/* Emit its rows. 0, or -1: no memory to sort them. */
int selection_rows(const struct selection *s, const struct admin *a,
    struct row_sink *sink);

/* The same as one row of one column: an array of objects. */
int selection_json(const struct selection *s, const struct admin *a,
    struct row_sink *sink);

#endif
