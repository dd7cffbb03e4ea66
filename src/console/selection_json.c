/* selection_json.c - the rows of a selection as JSON.
 * SPDX-License-Identifier: ISC */
#include "console/selection.h"

#include <string.h>

#include <jansson.h>

#include "base/container.h"

#define JSON_MAX ((size_t)256 << 20)	/* bytes of one result */
#define TEXT_MAX 4096			/* of a text that is no UTF-8 */

/* Names come from clients: any byte may be in them. */
static json_t *repaired(const char *text)
{
	char buf[TEXT_MAX];
	size_t n = 0;

	for (; text[n] != '\0' && n < sizeof buf - 1; n++)
		buf[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
	buf[n] = '\0';
	return json_string(buf);
}

static json_t *cell_json(const struct cell *cell, enum column_type type)
{
	char buf[CELL_TEXT_MAX];

	if (cell->kind == CELL_NULL)
		return json_null();
	if (type == COL_BOOL)
		return json_boolean(cell->number != 0);
	if (column_is_number(type))
		return json_integer(cell->number);
	const char *const text = cell_format(cell, type, buf);
	json_t *const value = json_string(text);

	return value != NULL ? value : repaired(text);
}

static int append(const char *bytes, size_t n, void *arg)
{
	struct writer *const w = arg;

	writer_bytes(w, bytes, n);
	return w->failed ? -1 : 0;
}

static int on_row(struct row_sink *sink, const struct cell *cells)
{
	struct selection_array *const out =
	    container_of(sink, struct selection_array, sink);
	json_t *const row = json_object();
	int rc = row == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < out->s->count; i++)
		rc = json_object_set_new(row, out->s->columns[i].name,
		    cell_json(&cells[i], out->s->columns[i].type));
	writer_bytes(&out->w, out->started ? "," : "[", 1);
	out->started = true;
	if (rc == 0)
		rc = json_dump_callback(row, append, &out->w, JSON_COMPACT);
	json_decref(row);
	if (rc != 0)
		out->w.failed = true;
	return out->w.failed ? -1 : 0;
}

void selection_array_init(struct selection_array *j,
    const struct selection *s)
{
	*j = (struct selection_array){ .sink = { on_row }, .s = s };
	writer_init(&j->w, JSON_MAX);
}

void selection_array_fini(struct selection_array *j)
{
	writer_fini(&j->w);
}

int selection_array_emit(struct selection_array *j, struct row_sink *sink)
{
	writer_bytes(&j->w, j->started ? "]" : "[]", j->started ? 2 : 3);
	if (j->w.failed)
		return -1;
	const struct cell cell = cell_text((const char *)j->w.at);

	(void)sink->row(sink, &cell);
	return 0;
}

int selection_json(const struct selection *s, const struct admin *a,
    struct row_sink *sink)
{
	struct selection_array out;

	selection_array_init(&out, s);
	int rc = selection_rows(s, a, &out.sink);

	if (rc == 0)
		rc = selection_array_emit(&out, sink);
	selection_array_fini(&out);
	return rc;
}
