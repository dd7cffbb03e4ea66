/* rowset.h - rows that are kept: to be sorted, or fetched bit by bit.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_ROWSET_H
#define CONSOLE_ROWSET_H

#include "console/table.h"

struct rowset_row;

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
