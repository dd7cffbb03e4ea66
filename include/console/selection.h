/* selection.h - the columns and rows of a view that were asked for.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_SELECTION_H
#define CONSOLE_SELECTION_H

#include "console/admin_parse.h"
#include "console/table.h"
#include "proto/msg.h"

struct admin;
struct err;
struct rowset;

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

/* What rows of the whole view go in here: those that pass go to the next. */
struct selection_filter {
	struct row_sink sink;
	const struct selection *s;
	struct row_sink *next;	/* gets whole rows, or the columns chosen */
	int64_t left;		/* rows to go; -1 = all */
	bool whole;
};
void selection_filter_init(struct selection_filter *f,
    const struct selection *s, struct row_sink *next);
/* This row passes. Returns non-zero when enough has come. */
int selection_emit(struct selection_filter *f, const struct cell *cells);

/* Where there is an order: the whole rows that pass are kept in rs, to be ... */
void selection_order_init(struct selection_filter *f,
    const struct selection *s, struct rowset *rs);
/* ... brought into that order. */
void selection_order(const struct selection *s, struct rowset *rs);

/* Rows of a selection that go in here become an array of objects. */
struct selection_array {
	struct row_sink sink;
	const struct selection *s;
	struct writer w;
	bool started;
};
void selection_array_init(struct selection_array *j,
    const struct selection *s);
/* Emit it as one row of one column. 0, or -1: no memory. */
int selection_array_emit(struct selection_array *j, struct row_sink *sink);
void selection_array_fini(struct selection_array *j);

/* The rows as such an array. 0, or -1: no memory. */
int selection_json(const struct selection *s, const struct admin *a,
    struct row_sink *sink);

#endif
