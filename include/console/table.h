/* table.h - columns and cells as protocol messages, and rows that are kept.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_TABLE_H
#define CONSOLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "conf/options.h"

struct admin;
struct rowset_row;
struct writer;

enum column_type { COL_TEXT, COL_INT4, COL_INT8, COL_NUMERIC, COL_BYTEA,
	COL_TIME, /* text; the number is a usec_t of the monotonic clock */
	COL_BOOL, COL_JSON };

/* When a plain SHOW has it: always, where console_version is 1.26, never. */
enum column_shape { SHAPE_PLAIN, SHAPE_1_26, SHAPE_EXTENDED };

/* The last shape of column that a plain SHOW has. */
static inline enum column_shape column_plain(enum console_version v)
{
	return v == CONSOLE_1_25 ? SHAPE_PLAIN : SHAPE_1_26;
}

struct column {
	const char *name;
	enum column_type type;
	enum column_shape shape;
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

/* What the rows of a view are of, for a walk bit by bit. */
enum view_over {
	VIEW_PRIVATE,		/* shown on the console only */
	VIEW_WHOLE,		/* few rows: rows() emits them at once */
	VIEW_DATABASES, VIEW_POOLS, VIEW_CLIENTS, VIEW_SERVERS,
	VIEW_USERS,		/* struct known_user */
};

/* Where there are several workers. */
enum view_spread {
	VIEW_EACH,		/* the rows of one worker, then of the next */
	VIEW_FIRST,		/* the first one knows, adds up or merges it all */
};

struct view {
	const char *topic;		/* "POOLS" */
	const struct column *columns;
	size_t column_count;
	/* Emit all rows in the spec's order. */
	void (*rows)(const struct admin *a, const struct view *v,
	    struct row_sink *sink);
	enum view_spread spread;
	enum view_over over;
	/* Emit the rows of one database, pool ... Non-zero to stop. */
	int (*item)(const struct admin *a, const struct view *v,
	    const void *item, struct row_sink *sink);
	/* Emit what comes before them; or NULL. */
	int (*begin)(const struct admin *a, struct row_sink *sink);
	/* More items of another kind, for rows of the same columns; or NULL. */
	const struct view *then;
	int variant;			/* for views that share a function */
	bool admin;			/* not for users who may only look */
	bool console;			/* shown there only, if not VIEW_PRIVATE */
};

/* NULL: no such topic; case-insensitive. */
const struct view *view_find(const char *topic);
/* All of them in the order of SHOW HELP; NULL: i is past the last. */
const struct view *view_at(size_t i);

/* Emit the rows of all workers, which stand still. */
void view_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink);

/* What the rows of a result look like. */
struct shape {
	const struct column *columns;
	size_t count;
	const bool *binary;	/* one a column; NULL = all are text */
};

static inline struct shape view_shape(const struct view *v)
{
	return (struct shape){ .columns = v->columns,
		.count = v->column_count };
}

/* RowDescription and DataRow. */
void table_write_description(struct writer *w, const struct shape *s);
void table_write_row(struct writer *w, const struct shape *s,
    const struct cell *cells);
/* PostgreSQL's pg_type.oid */
uint32_t table_type_oid(enum column_type type);

/* Room for any number or time as text. */
#define CELL_TEXT_MAX 64
/* The cell as text, in buf or borrowed; NULL = SQL NULL. */
const char *cell_format(const struct cell *cell, enum column_type type,
    char buf[CELL_TEXT_MAX]);
/* Is this type a number that can be compared as such? */
static inline bool column_is_number(enum column_type type)
{
	return type == COL_INT4 || type == COL_INT8 || type == COL_NUMERIC;
}

/* Rows that are kept: to be sorted, or fetched bit by bit. */

struct rowset {
	struct row_sink sink;		/* rows that go in here are kept */
	size_t columns;
	struct rowset_row **rows;	/* owned */
	size_t count, size;
	size_t bytes, cap;
	bool failed;			/* no memory, or past cap */
};

/* All-zero is empty, too. cap: bytes that the rows may take. */
void rowset_init(struct rowset *rs, size_t columns, size_t cap);
void rowset_fini(struct rowset *rs);

const struct cell *rowset_at(const struct rowset *rs, size_t i);

/* By this column of this type, NULLs last; equal ones keep their order. */
struct rowset_order {
	size_t column;
	enum column_type type;
	bool descending;
};
void rowset_sort(struct rowset *rs, const struct rowset_order *order);

#endif
