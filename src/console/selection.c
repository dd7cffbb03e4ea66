/* selection.c - the columns and rows of a view that were asked for.
 * SPDX-License-Identifier: ISC */
#include "console/selection.h"

#include <jansson.h>
#include <string.h>

#include "base/container.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "console/table.h"

#define SORT_MAX ((size_t)256 << 20)	/* bytes of rows to be sorted */

/* --- making it --- */

static int selection_look_up(const struct view *v, const char *name)
{
	for (size_t i = 0; i < v->column_count; i++) {
		if (text_casecmp(v->columns[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

static int find_column(const struct view *v, const char *name, struct err *e)
{
	const int column = selection_look_up(v, name);

	if (column >= 0)
		return column;
	return err_set(e, ERRCODE_UNDEFINED_COLUMN,
	    "column \"%s\" does not exist", name);
}

static int add_column(struct selection *s, int column)
{
	if (column < 0)
		return -1;
	s->from[s->count] = (uint8_t)column;
	s->columns[s->count++] = s->view->columns[column];
	return 0;
}

/* 9999 and "09999" alike; not the octal of num_parse_i64(). */
static int parse_number(const char *text, int64_t *out)
{
	const char *digits = text[0] == '-' ? text + 1 : text;

	while (digits[0] == '0' && digits[1] != '\0')
		digits++;
	if (digits[0] < '0' || digits[0] > '9' ||
	    num_parse_i64(digits, out) < 0)
		return -1;
	if (text[0] == '-')
		*out = -*out;
	return 0;
}

static int add_test(struct selection *s, const struct show_condition *c,
    struct err *e)
{
	struct selection_test *const t = &s->tests[s->test_count++];
	const int column = find_column(s->view, c->column, e);
	const bool unknown = c->param != 0 && c->value[0] == '\0';

	if (column < 0)
		return -1;
	if (c->bare && selection_look_up(s->view, c->value) >= 0)
		return err_set(e, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "columns can't be compared with each other: write '%s' if "
		    "the word is meant", c->value);
	*t = (struct selection_test){ .column = (uint8_t)column, .op = c->op,
		.text = c->value };
	if (!column_is_number(s->view->columns[column].type) ||
	    c->op == SHOW_NULL || c->op == SHOW_NOT_NULL || unknown)
		return 0;
	if (parse_number(c->value, &t->number) < 0)
		return err_set(e, ERRCODE_INVALID_TEXT_REPRESENTATION,
		    "invalid input for column \"%s\", a number: \"%s\"",
		    c->column, c->value);
	return 0;
}

/* The columns of the view that a query without a list of them gets. */
static void add_columns(struct selection *s, enum column_shape most)
{
	for (size_t i = 0; i < s->view->column_count; i++) {
		if (s->view->columns[i].shape <= most)
			add_column(s, (int)i);
	}
}

int selection_make(struct selection *s, const struct selection_source *src,
    struct err *e)
{
	const struct view *const v = src->view;
	const struct show_query *const q = src->q;

	s->view = v;
	s->count = s->test_count = 0;
	s->order = -1;
	s->descending = q->descending;
	s->limit = q->limit;
	for (size_t i = 0; i < q->column_count; i++) {
		if (add_column(s, find_column(v, q->columns[i], e)) < 0)
			return -1;
	}
	if (q->column_count == 0)
		add_columns(s, q->extended ? SHAPE_EXTENDED : src->plain);
	for (size_t i = 0; i < q->where_count; i++) {
		if (add_test(s, &q->where[i], e) < 0)
			return -1;
	}
	if (q->order[0] == '\0')
		return 0;
	s->order = find_column(v, q->order, e);
	return s->order < 0 ? -1 : 0;
}

/* --- its rows --- */

static bool holds(enum show_op op, int order)
{
	switch (op) {
	case SHOW_EQUAL: return order == 0;
	case SHOW_UNEQUAL: return order != 0;
	case SHOW_LESS: return order < 0;
	case SHOW_GREATER: return order > 0;
	case SHOW_AT_MOST: return order <= 0;
	case SHOW_AT_LEAST: return order >= 0;
	case SHOW_NULL:
	case SHOW_NOT_NULL: break;
	}
	return false;
}

static bool selection_passes(const struct selection_test *t,
    const struct view *v, const struct cell *cells)
{
	const struct cell *const cell = &cells[t->column];
	const enum column_type type = v->columns[t->column].type;
	char buf[CELL_TEXT_MAX];

	if (t->op == SHOW_NULL || t->op == SHOW_NOT_NULL)
		return (cell->kind == CELL_NULL) == (t->op == SHOW_NULL);
	if (cell->kind == CELL_NULL)
		return false;
	if (column_is_number(type))
		return holds(t->op, (cell->number > t->number) -
		    (cell->number < t->number));
	return holds(t->op, strcmp(cell_format(cell, type, buf), t->text));
}

static bool passes_all(const struct selection *s, const struct cell *cells)
{
	for (size_t i = 0; i < s->test_count; i++) {
		if (!selection_passes(&s->tests[i], s->view, cells))
			return false;
	}
	return true;
}

int selection_emit(struct selection_filter *f, const struct cell *cells)
{
	struct cell chosen[SHOW_COLUMNS_MAX];

	if (f->left == 0)
		return 1;
	if (f->left > 0)
		f->left--;
	for (size_t i = 0; !f->whole && i < f->s->count; i++)
		chosen[i] = cells[f->s->from[i]];
	const int rc = f->next->row(f->next, f->whole ? cells : chosen);

	return rc != 0 ? rc : f->left == 0;
}

static int selection_on_row(struct row_sink *sink, const struct cell *cells)
{
	struct selection_filter *const f =
	    container_of(sink, struct selection_filter, sink);

	return passes_all(f->s, cells) ? selection_emit(f, cells) : 0;
}

void selection_filter_init(struct selection_filter *f,
    const struct selection *s, struct row_sink *next)
{
	*f = (struct selection_filter){ { selection_on_row }, s, next, s->limit,
		false };
}

void selection_order_init(struct selection_filter *f,
    const struct selection *s, struct rowset *rs)
{
	rowset_init(rs, s->view->column_count, SORT_MAX);
	*f = (struct selection_filter){ { selection_on_row }, s, &rs->sink, -1,
		true };
}

void selection_order(const struct selection *s, struct rowset *rs)
{
	const struct rowset_order order = {
		.column = (size_t)s->order,
		.type = s->view->columns[s->order].type,
		.descending = s->descending,
	};

	rowset_sort(rs, &order);
}

static int sorted_rows(const struct selection *s, const struct admin *a,
    struct selection_filter *out)
{
	struct selection_filter in;
	struct rowset rs;

	selection_order_init(&in, s, &rs);
	view_rows(a, s->view, &in.sink);
	const int rc = rs.failed ? -1 : 0;

	selection_order(s, &rs);
	for (size_t i = 0; rc == 0 && i < rs.count; i++) {
		if (selection_emit(out, rowset_at(&rs, i)) != 0)
			break;
	}
	rowset_fini(&rs);
	return rc;
}

int selection_rows(const struct selection *s, const struct admin *a,
    struct row_sink *sink)
{
	struct selection_filter out;

	selection_filter_init(&out, s, sink);
	if (s->limit == 0)
		return 0;
	if (s->order >= 0)
		return sorted_rows(s, a, &out);
	view_rows(a, s->view, &out.sink);
	return 0;
}

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

static int selection_append(const char *bytes, size_t n, void *arg)
{
	struct writer *const w = arg;

	writer_bytes(w, bytes, n);
	return w->failed ? -1 : 0;
}

static int selection_json_on_row(struct row_sink *sink, const struct cell *cells)
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
		rc = json_dump_callback(row, selection_append, &out->w,
		    JSON_COMPACT);
	json_decref(row);
	if (rc != 0)
		out->w.failed = true;
	return out->w.failed ? -1 : 0;
}

void selection_array_init(struct selection_array *j,
    const struct selection *s)
{
	*j = (struct selection_array){ .sink = { selection_json_on_row }, .s = s };
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
