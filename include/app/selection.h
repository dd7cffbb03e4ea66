/* selection.h - the columns and rows of a view that were asked for.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SELECTION_H
#define APP_SELECTION_H

#include "app/admin_parse.h"
#include "app/table.h"

struct app;
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

/* q must outlive s. 0, or -1 with e: no such column, no number. */
int selection_make(struct selection *s, const struct view *v,
    const struct show_query *q, struct err *e);

/* Emit its rows. 0, or -1: no memory to sort them. */
int selection_rows(const struct selection *s, struct app *app,
    struct row_sink *sink);

/* The same as one row of one column: an array of objects. */
int selection_json(const struct selection *s, struct app *app,
    struct row_sink *sink);

#endif
