/* grid.c - rows and columns of text that the console has answered.
 * SPDX-License-Identifier: ISC */
#include "ctl/grid.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"

int grid_init(struct grid *g, size_t columns, size_t rows)
{
	*g = (struct grid){ .columns = columns, .rows = rows };
	g->names = mem_zalloc((columns + 1) * sizeof(*g->names));
	g->cells = mem_zalloc((columns * rows + 1) * sizeof(*g->cells));
	g->numeric = mem_zalloc((columns + 1) * sizeof(*g->numeric));
	if (g->names != NULL && g->cells != NULL && g->numeric != NULL)
		return 0;
	grid_fini(g);
	return -1;
}

void grid_fini(struct grid *g)
{
	mem_free(g->names);
	mem_free(g->cells);
	mem_free(g->numeric);
	*g = (struct grid){ 0 };
}

int grid_column(const struct grid *g, const char *name)
{
	for (size_t i = 0; i < g->columns; i++) {
		if (strcmp(g->names[i], name) == 0)
			return (int)i;
	}
	return -1;
}

const char *grid_cell(const struct grid *g, size_t row, int column)
{
	return column < 0 || row >= g->rows ? NULL :
	    g->cells[row * g->columns + (size_t)column];
}

static int64_t number(const char *text)
{
	int64_t n = 0;

	if (text != NULL)
		(void)num_parse_i64(text, &n);
	return n;
}

int64_t grid_number(const struct grid *g, size_t row, const char *column)
{
	return number(grid_cell(g, row, grid_column(g, column)));
}

const char *grid_value(const struct grid *g, const char *key)
{
	for (size_t i = 0; i < g->rows; i++) {
		const char *const k = grid_cell(g, i, 0);

		if (k != NULL && strcmp(k, key) == 0)
			return grid_cell(g, i, 1);
	}
	return NULL;
}

/* --- order --- */

struct order {
	const struct grid *g;
	int column;
	bool descending;
};

static int compare(const struct order *o, size_t a, size_t b)
{
	const char *const x = grid_cell(o->g, a, o->column);
	const char *const y = grid_cell(o->g, b, o->column);

	if (x == NULL || y == NULL)	/* whatever the direction */
		return (x == NULL) - (y == NULL);
	int by = strcmp(x, y);

	if (o->g->numeric[o->column]) {
		const int64_t m = number(x), n = number(y);

		by = (m > n) - (m < n);
	}
	return o->descending ? -by : by;
}

/* From the two runs at from and at middle to to. */
static void merge(const struct order *o, const size_t *from, size_t *to,
    const size_t at[3])
{
	size_t a = at[0], b = at[1];

	for (size_t i = at[0]; i < at[2]; i++) {
		const bool first = a < at[1] &&
		    (b >= at[2] || compare(o, from[a], from[b]) <= 0);

		to[i] = first ? from[a++] : from[b++];
	}
}

/* Stable merge sort, bottom up. Returns where the result is. */
static size_t *sort(const struct order *o, size_t *from, size_t *to)
{
	const size_t n = o->g->rows;

	for (size_t run = 1; run < n; run *= 2) {
		for (size_t i = 0; i < n; i += 2 * run) {
			const size_t mid = i + run < n ? i + run : n;
			const size_t end = mid + run < n ? mid + run : n;

			merge(o, from, to, (const size_t[]){ i, mid, end });
		}
		size_t *const swap = from;
		from = to;
		to = swap;
	}
	return from;
}

int grid_sort(struct grid *g, int column, bool descending)
{
	const struct order o = { g, column, descending };
	size_t *const rows = mem_alloc((2 * g->rows + 1) * sizeof(*rows));
	const char **const cells = mem_alloc((g->columns * g->rows + 1) *
	    sizeof(*cells));

	if (rows == NULL || cells == NULL || column < 0) {
		mem_free(rows);
		mem_free(cells);
		return column < 0 ? 0 : -1;
	}
	for (size_t i = 0; i < g->rows; i++)
		rows[i] = i;
	const size_t *const sorted = sort(&o, rows, rows + g->rows);

	for (size_t i = 0; i < g->rows; i++)
		memcpy(cells + i * g->columns, g->cells +
		    sorted[i] * g->columns, g->columns * sizeof(*cells));
	mem_free(rows);
	mem_free(g->cells);
	g->cells = cells;
	return 0;
}
