/* api_view.c - a view of the console as an array of JSON objects.
 * SPDX-License-Identifier: ISC */
#include "http/api_view.h"

#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "console/table.h"
#include "console/view_walk.h"
#include "http/httpd.h"
#include "http/json.h"
#include "http/request.h"
#include "http/written.h"

#define ROWS_BYTES ((size_t)64 << 20)	/* of rows written at once */
#define TESTS 4
#define VALUE_BYTES 256

struct test {
	size_t column;
	char value[VALUE_BYTES];
};

struct api_view {
	struct view_walk walk;
	struct row_sink sink;
	struct written out;	/* rows that have not gone */
	struct test tests[TESTS];
	size_t test_count;
	int64_t left;		/* rows to come; -1: all */
	bool begun, ended;
};

/* Addresses of memory help only an attacker. */
static bool is_hidden(const struct column *c)
{
	return strcmp(c->name, "ptr") == 0 || strcmp(c->name, "link") == 0;
}

/* --- rows --- */

static void put_cell(struct writer *w, const struct cell *cell,
    enum column_type type)
{
	char buf[CELL_TEXT_MAX];

	if (cell->kind == CELL_NUMBER && type == COL_BOOL)
		json_put_raw(w, cell->number != 0 ? "true" : "false");
	else if (cell->kind == CELL_NUMBER && type == COL_NUMERIC)
		json_put_unsigned(w, (uint64_t)cell->number);
	else if (cell->kind == CELL_NUMBER && column_is_number(type))
		json_put_raw(w, cell_format(cell, type, buf));
	else
		json_put_string(w, cell_format(cell, type, buf));
}

static bool passes(const struct api_view *x, const struct cell *cells)
{
	for (size_t i = 0; i < x->test_count; i++) {
		const struct test *const t = &x->tests[i];
		char buf[CELL_TEXT_MAX];
		const char *const text = cell_format(&cells[t->column],
		    x->walk.v->columns[t->column].type, buf);

		if (text == NULL || strcmp(text, t->value) != 0)
			return false;
	}
	return true;
}

static int on_row(struct row_sink *sink, const struct cell *cells)
{
	struct api_view *const x = container_of(sink, struct api_view, sink);
	const struct view *const v = x->walk.v;
	const char *comma = "";

	if (!passes(x, cells))
		return 0;
	if (x->left == 0)
		return -1;
	x->left -= x->left > 0;
	json_put_raw(&x->out.w, x->begun ? ",\n{" : "[\n{");
	x->begun = true;
	for (size_t i = 0; i < v->column_count; i++) {
		if (is_hidden(&v->columns[i]))
			continue;
		json_put_raw(&x->out.w, comma);
		json_put_string(&x->out.w, v->columns[i].name);
		json_put_raw(&x->out.w, ":");
		put_cell(&x->out.w, &cells[i], v->columns[i].type);
		comma = ",";
	}
	json_put_raw(&x->out.w, "}");
	return x->out.w.failed ? -1 : 0;
}

/* --- bit by bit --- */

static void put_end(struct api_view *x)
{
	view_walk_end(&x->walk);
	json_put_raw(&x->out.w, x->begun ? "\n]\n" : "[]\n");
	x->ended = true;
}

/* Write rows until there are enough for a chunk, or a slice is over. */
static void fill(struct api_view *x, size_t enough)
{
	const usec_t begin = time_precise();

	x->out.w.len = x->out.sent = 0;
	while (x->out.w.len < enough && time_precise() - begin < HTTPD_SLICE) {
		if (x->left != 0 && view_walk_next(&x->walk, &x->sink))
			continue;
		put_end(x);
		return;
	}
}

static enum httpd_more more(void *body, struct text *t)
{
	struct api_view *const x = body;

	if (x->out.sent == x->out.w.len && !x->ended)
		fill(x, (t->size - t->len) / 2);
	const bool rest = written_more(&x->out, t);

	if (x->out.w.failed)
		return HTTPD_BROKEN;
	return rest || !x->ended ? HTTPD_MORE : HTTPD_LAST;
}

static void api_view_free(void *body)
{
	struct api_view *const x = body;

	view_walk_end(&x->walk);
	writer_fini(&x->out.w);
	mem_free(x);
}

/* --- what is asked for --- */

const struct view *api_view_find(const char *topic)
{
	const struct view *const v = view_find(topic);

	return v == NULL || v->admin || v->console ||
	    v->over == VIEW_PRIVATE ? NULL : v;
}

static size_t count_parameters(const struct request *r)
{
	size_t n = r->query[0] != '\0';

	for (const char *at = r->query; *at != '\0'; at++)
		n += *at == '&';
	return n;
}

static bool read_limit(struct api_view *x, const struct request *r)
{
	char value[VALUE_BYTES];

	return request_parameter(r, "limit", value, sizeof value) &&
	    num_parse_i64(value, &x->left) == 0 && x->left >= 0;
}

/* Each column that is named. Returns how many. */
static size_t read_tests(struct api_view *x, const struct request *r)
{
	const struct view *const v = x->walk.v;

	for (size_t i = 0; i < v->column_count && x->test_count < TESTS; i++) {
		struct test *const t = &x->tests[x->test_count];

		t->column = i;
		if (!is_hidden(&v->columns[i]) &&
		    request_parameter(r, v->columns[i].name, t->value,
		    sizeof t->value))
			x->test_count++;
	}
	return x->test_count;
}

struct api_view *api_view_new(const struct admin *a, const struct view *v,
    const struct request *r, const char **why)
{
	struct api_view *const x = mem_zalloc(sizeof *x);

	*why = NULL;
	if (x == NULL)
		return NULL;
	x->sink.row = on_row;
	x->left = -1;
	writer_init(&x->out.w, ROWS_BYTES);
	view_walk_begin(&x->walk, a, v);
	if (read_limit(x, r) + read_tests(x, r) == count_parameters(r))
		return x;
	*why = "parameters are limit=N, and column=VALUE four times";
	api_view_free(x);
	return NULL;
}

const struct httpd_source *api_view_source(void)
{
	static const struct httpd_source source = {
		.more = more, .free = api_view_free };

	return &source;
}
