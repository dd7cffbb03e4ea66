/* rowset.c - rows that are kept: to be sorted, or fetched bit by bit.
 * SPDX-License-Identifier: ISC */
#include "console/rowset.h"

#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"

struct rowset_row {
	size_t place;		/* as it came */
	struct cell cells[];	/* their texts stand behind them */
};

static size_t text_bytes(const struct cell *cells, size_t columns)
{
	size_t n = 0;

	for (size_t i = 0; i < columns; i++) {
		if (cells[i].kind == CELL_TEXT)
			n += strlen(cells[i].text) + 1;
	}
	return n;
}

/* One block for the row and all its texts. */
static struct rowset_row *row_copy(const struct cell *cells, size_t columns,
    size_t bytes)
{
	struct rowset_row *const row = mem_alloc(bytes);

	if (row == NULL)
		return NULL;
	char *at = (char *)&row->cells[columns];

	for (size_t i = 0; i < columns; i++) {
		row->cells[i] = cells[i];
		if (cells[i].kind != CELL_TEXT)
			continue;
		const size_t n = strlen(cells[i].text) + 1;

		memcpy(at, cells[i].text, n);
		row->cells[i].text = at;
		at += n;
	}
	return row;
}

static int make_room(struct rowset *rs)
{
	const size_t size = rs->size > 0 ? 2 * rs->size : 64;

	if (rs->count < rs->size)
		return 0;
	struct rowset_row **const rows = mem_resize(rs->rows,
	    size * sizeof *rows);

	if (rows == NULL)
		return -1;
	rs->rows = rows;
	rs->size = size;
	return 0;
}

static int keep(struct row_sink *sink, const struct cell *cells)
{
	struct rowset *const rs = container_of(sink, struct rowset, sink);
	const size_t bytes = sizeof(struct rowset_row) +
	    rs->columns * sizeof *cells + text_bytes(cells, rs->columns);
	struct rowset_row *row = NULL;

	if (rs->bytes + bytes <= rs->cap && make_room(rs) == 0)
		row = row_copy(cells, rs->columns, bytes);
	if (row == NULL) {
		rs->failed = true;
		return -1;
	}
	row->place = rs->count;
	rs->rows[rs->count++] = row;
	rs->bytes += bytes;
	return 0;
}

void rowset_init(struct rowset *rs, size_t columns, size_t cap)
{
	*rs = (struct rowset){ .sink = { keep }, .columns = columns,
		.cap = cap };
}

void rowset_fini(struct rowset *rs)
{
	for (size_t i = 0; i < rs->count; i++)
		mem_free(rs->rows[i]);
	mem_free(rs->rows);
	*rs = (struct rowset){ .rows = NULL };
}

const struct cell *rowset_at(const struct rowset *rs, size_t i)
{
	return rs->rows[i]->cells;
}

static int compare_numbers(const struct cell *a, const struct cell *b,
    enum column_type type)
{
	if (type == COL_NUMERIC)
		return ((uint64_t)a->number > (uint64_t)b->number) -
		    ((uint64_t)a->number < (uint64_t)b->number);
	return (a->number > b->number) - (a->number < b->number);
}

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct rowset_row *const p = *(struct rowset_row *const *)x;
	const struct rowset_row *const q = *(struct rowset_row *const *)y;
	const struct rowset_order *const order = arg;
	const struct cell *const a = &p->cells[order->column];
	const struct cell *const b = &q->cells[order->column];
	int rc = 0;

	if (a->kind == CELL_NULL || b->kind == CELL_NULL)
		rc = (a->kind == CELL_NULL) - (b->kind == CELL_NULL);
	else if (a->kind == CELL_TEXT && b->kind == CELL_TEXT)
		rc = strcmp(a->text, b->text);
	else
		rc = compare_numbers(a, b, order->type);
	if (rc == 0)
		return (p->place > q->place) - (p->place < q->place);
	/* NULLs come last either way */
	if (order->descending && a->kind != CELL_NULL && b->kind != CELL_NULL)
		return -rc;
	return rc;
}

void rowset_sort(struct rowset *rs, const struct rowset_order *order)
{
	if (rs->count > 1)
		qsort_r(rs->rows, rs->count, sizeof *rs->rows, compare_rows,
		    (void *)order);
}
