/* table.c - columns and cells as protocol messages, and rows that are kept.
 * SPDX-License-Identifier: ISC */
#include "console/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "proto/msg.h"

/* PostgreSQL's pg_type: oid and typlen */
static const struct {
	uint32_t oid;
	int16_t len;
} types[] = {
	[COL_TEXT] = { 25, -1 },
	[COL_INT4] = { 23, 4 },
	[COL_INT8] = { 20, 8 },
	[COL_NUMERIC] = { 1700, -1 },
	[COL_BYTEA] = { 17, -1 },
	[COL_TIME] = { 25, -1 },
	[COL_BOOL] = { 16, 1 },
	[COL_JSON] = { 114, -1 },
};

uint32_t table_type_oid(enum column_type type)
{
	return types[type].oid;
}

static bool table_is_binary(const struct shape *s, size_t column)
{
	return s->binary != NULL && s->binary[column];
}

void table_write_description(struct writer *w, const struct shape *s)
{
	writer_begin(w, BE_ROW_DESCRIPTION);
	writer_u16(w, (uint16_t)s->count);
	for (size_t i = 0; i < s->count; i++) {
		const struct column *const col = &s->columns[i];

		writer_str(w, col->name);
		writer_u32(w, 0);	/* table */
		writer_u16(w, 0);	/* its column */
		writer_u32(w, types[col->type].oid);
		writer_u16(w, (uint16_t)types[col->type].len);
		writer_u32(w, UINT32_MAX);	/* typmod -1 */
		writer_u16(w, table_is_binary(s, i));
	}
	writer_end(w);
}

/* What doesn't fit the type would make a driver drop the whole result. */
static int64_t clamp_int4(int64_t n)
{
	if (n > INT32_MAX)
		return INT32_MAX;
	return n < INT32_MIN ? INT32_MIN : n;
}

static const char *format_number(enum column_type type, int64_t number,
    char *buf, size_t size)
{
	switch (type) {
	case COL_TIME:
		return time_format(number, buf, size);
	case COL_BOOL:
		return number != 0 ? "t" : "f";
	case COL_NUMERIC:
		snprintf(buf, size, "%" PRIu64, (uint64_t)number);
		return buf;
	case COL_INT4:
		number = clamp_int4(number);
		break;
	default:
		break;
	}
	snprintf(buf, size, "%" PRId64, number);
	return buf;
}

const char *cell_format(const struct cell *cell, enum column_type type,
    char buf[CELL_TEXT_MAX])
{
	if (cell->kind == CELL_NULL)
		return NULL;
	if (cell->kind == CELL_NUMBER)
		return format_number(type, cell->number, buf, CELL_TEXT_MAX);
	return cell->text;
}

static void table_write_text(struct writer *w, const char *text)
{
	const size_t len = strlen(text);

	writer_u32(w, (uint32_t)len);
	writer_bytes(w, text, len);
}

/* --- binary format --- */

/* numeric_send(): digits of base 10,000, the first is the most significant */
static void write_numeric(struct writer *w, uint64_t number)
{
	uint16_t groups[5];
	unsigned n = 0;

	for (; number > 0; number /= 10000)
		groups[n++] = (uint16_t)(number % 10000);
	writer_u32(w, 8 + 2 * n);
	writer_u16(w, (uint16_t)n);
	writer_u16(w, (uint16_t)(n > 0 ? n - 1 : 0));	/* weight */
	writer_u16(w, 0);	/* sign: positive */
	writer_u16(w, 0);	/* digits behind the point */
	while (n > 0)
		writer_u16(w, groups[--n]);
}

static void write_u64(struct writer *w, uint64_t number)
{
	writer_u32(w, 8);
	writer_u32(w, (uint32_t)(number >> 32));
	writer_u32(w, (uint32_t)number);
}

static uint8_t table_hex_value(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* text is "\x...", which has two digits a byte */
static void write_bytea(struct writer *w, const char *text)
{
	const size_t n = strlen(text) / 2;

	writer_u32(w, (uint32_t)(n - 1));
	for (size_t i = 1; i < n; i++)
		writer_u8(w, (uint8_t)(table_hex_value(text[2 * i]) << 4 |
		    table_hex_value(text[2 * i + 1])));
}

static void write_binary(struct writer *w, enum column_type type,
    const struct cell *cell)
{
	char buf[CELL_TEXT_MAX];

	switch (type) {
	case COL_INT4:
		writer_u32(w, 4);
		writer_u32(w, (uint32_t)clamp_int4(cell->number));
		break;
	case COL_INT8:
		write_u64(w, (uint64_t)cell->number);
		break;
	case COL_NUMERIC:
		write_numeric(w, (uint64_t)cell->number);
		break;
	case COL_BOOL:
		writer_u32(w, 1);
		writer_u8(w, cell->number != 0);
		break;
	case COL_BYTEA:
		write_bytea(w, cell->text);
		break;
	case COL_TEXT:
	case COL_TIME:
	case COL_JSON:
		table_write_text(w, cell_format(cell, type, buf));
		break;
	}
}

void table_write_row(struct writer *w, const struct shape *s,
    const struct cell *cells)
{
	char buf[CELL_TEXT_MAX];

	writer_begin(w, BE_DATA_ROW);
	writer_u16(w, (uint16_t)s->count);
	for (size_t i = 0; i < s->count; i++) {
		const enum column_type type = s->columns[i].type;

		if (cells[i].kind == CELL_NULL)
			writer_u32(w, UINT32_MAX);	/* length -1 */
		else if (table_is_binary(s, i))
			write_binary(w, type, &cells[i]);
		else
			table_write_text(w, cell_format(&cells[i], type, buf));
	}
	writer_end(w);
}

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

static int table_make_room(struct rowset *rs)
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

static int table_keep(struct row_sink *sink, const struct cell *cells)
{
	struct rowset *const rs = container_of(sink, struct rowset, sink);
	const size_t bytes = sizeof(struct rowset_row) +
	    rs->columns * sizeof *cells + text_bytes(cells, rs->columns);
	struct rowset_row *row = NULL;

	if (rs->bytes + bytes <= rs->cap && table_make_room(rs) == 0)
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
	*rs = (struct rowset){ .sink = { table_keep }, .columns = columns,
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
