/* table.c - column descriptors and cells as protocol messages.
 * SPDX-License-Identifier: ISC */
#include "app/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/msg.h"
#include "proto/writer.h"

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
};

void table_write_description(struct writer *w, const struct view *v)
{
	writer_begin(w, BE_ROW_DESCRIPTION);
	writer_u16(w, (uint16_t)v->column_count);
	for (size_t i = 0; i < v->column_count; i++) {
		const struct column *const col = &v->columns[i];

		writer_str(w, col->name);
		writer_u32(w, 0);	/* table */
		writer_u16(w, 0);	/* its column */
		writer_u32(w, types[col->type].oid);
		writer_u16(w, (uint16_t)types[col->type].len);
		writer_u32(w, UINT32_MAX);	/* typmod -1 */
		writer_u16(w, 0);	/* text format */
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

static void write_cell(struct writer *w, enum column_type type,
    const struct cell *cell)
{
	char buf[64];
	const char *text = cell->text;

	if (cell->kind == CELL_NULL) {
		writer_u32(w, UINT32_MAX);	/* length -1 */
		return;
	}
	if (cell->kind == CELL_NUMBER)
		text = format_number(type, cell->number, buf, sizeof buf);
	const size_t len = strlen(text);

	writer_u32(w, (uint32_t)len);
	writer_bytes(w, text, len);
}

void table_write_row(struct writer *w, const struct view *v,
    const struct cell *cells)
{
	writer_begin(w, BE_DATA_ROW);
	writer_u16(w, (uint16_t)v->column_count);
	for (size_t i = 0; i < v->column_count; i++)
		write_cell(w, v->columns[i].type, &cells[i]);
	writer_end(w);
}
