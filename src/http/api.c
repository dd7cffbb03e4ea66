/* api.c - /api/...: what the console shows, the history and the log as JSON.
 * SPDX-License-Identifier: ISC */
#include "http/api.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "console/admin.h"
#include "console/table.h"
#include "console/view_merge.h"
#include "console/view_walk.h"
#include "http/gather.h"
#include "http/history.h"
#include "http/http.h"
#include "http/httpd.h"
#include "http/json.h"
#include "http/request.h"
#include "pool/tally.h"
#include "session/sessions.h"

#define WRITTEN_BYTES ((size_t)64 << 20)

static const char json[] = "application/json";

static void api_refuse(struct httpd_conn *c, int status, const char *why)
{
	char body[256];
	struct text t;

	/* each why is one of ours: nothing in it needs a backslash */
	text_init(&t, body, sizeof body);
	text_addf(&t, "{\"error\": \"%s\"}\n", why);
	httpd_reply(c, &(struct httpd_head){ .status = status, .type = json },
	    t.at, t.len);
}

static void api_answer(struct httpd_conn *c, const struct request *r,
    const struct httpd_source *source, void *body)
{
	struct gather *const g = gather_new(&(struct gather_order){
		.source = source, .body = body, .type = json,
		.if_none_match = r->if_none_match });

	if (g == NULL)
		api_refuse(c, 503, "out of memory");
	else
		httpd_prepare(c, gather_source(), g);
}

/* since=N is the only parameter, and may be left out. */
static bool read_since(const struct request *r, uint64_t *since)
{
	char value[32];
	int64_t n = 0;

	*since = 0;
	if (r->query[0] == '\0')
		return true;
	if (!request_parameter(r, "since", value, sizeof value) ||
	    num_parse_i64(value, &n) < 0 || n < 0)
		return false;
	*since = (uint64_t)n;
	return true;
}

static void write_history(const struct api *api, uint64_t since,
    struct writer *w)
{
	history_write(api->history, since, w);
}

static void write_log(const struct api *api, uint64_t since,
    struct writer *w)
{
	log_enter();
	log_ring_write(api->log, since, w);
	log_leave();
}

static void get_written(const struct api *api, struct httpd_conn *c,
    const struct request *r, void (*write)(const struct api *api,
    uint64_t since, struct writer *w))
{
	uint64_t since;

	if (!read_since(r, &since)) {
		api_refuse(c, 400, "the only parameter is since=NUMBER");
		return;
	}
	struct written *const x = written_new(WRITTEN_BYTES);

	if (x != NULL)
		write(api, since, &x->w);
	if (x == NULL)
		api_refuse(c, 503, "out of memory");
	else
		api_answer(c, r, written_source(), x);
}

static void get_health(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	char body[HEALTH_BYTES];
	struct text t;
	struct written *const x = written_new(sizeof body);

	(void)r;
	text_init(&t, body, sizeof body);
	if (holds_take(api->holds)) {
		(void)health_check(api->holds->admin,
		    &(struct health_question){ .strict = false }, &t);
		holds_release(api->holds);
	} else {
		(void)health_of_hung(&t);
	}
	if (x != NULL)
		writer_bytes(&x->w, t.at, t.len);
	if (x == NULL)
		api_refuse(c, 503, "out of memory");
	else
		api_answer(c, r, written_source(), x);
}

/* Which process answers, and what time it is there. */
static void write_process(const struct api *api, struct writer *w)
{
	const struct sessions *const ss = api->holds->admin->ss;
	char host[HOST_NAME_MAX + 1] = "", now[64];

	time_update();
	(void)gethostname(host, sizeof host - 1);
	json_put_raw(w, "{\"host\":");
	json_put_string(w, host);
	json_put_raw(w, ",\"pid\":");
	json_put_number(w, getpid());
	json_put_raw(w, ",\"port\":");
	json_put_number(w, sessions_settings(ss)->listen_port);
	json_put_raw(w, ",\"started\":");
	json_put_number(w, ss->born);
	json_put_raw(w, ",\"now\":");
	json_put_number(w, time_wall(time_now()));
	json_put_raw(w, ",\"clock\":");
	json_put_string(w, time_format(time_now(), now, sizeof now));
	json_put_raw(w, "}\n");
}

static void get_process(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	struct written *const x = written_new(WRITTEN_BYTES);

	if (x != NULL)
		write_process(api, &x->w);
	if (x == NULL)
		api_refuse(c, 503, "out of memory");
	else
		api_answer(c, r, written_source(), x);
}

struct errors {
	struct writer *w;
	const char *between;
};

static int put_error(void *arg, const struct tally_count *n)
{
	struct errors *const x = arg;

	json_put_raw(x->w, x->between);
	for (size_t i = 0; i < n->label_count; i++) {
		json_put_raw(x->w, i == 0 ? "{" : ",");
		json_put_string(x->w, n->labels[i].name);
		json_put_raw(x->w, ":");
		json_put_string(x->w, n->labels[i].value);
	}
	json_put_raw(x->w, ",\"count\":");
	json_put_unsigned(x->w, n->value);
	json_put_raw(x->w, "}");
	x->between = ",\n";
	return x->w->failed ? -1 : 0;
}

/* Of a worker that does not answer nothing is told. */
static void add_tallies(const struct api *api, struct tally *sum)
{
	if (!holds_take(api->holds))
		return;
	for (const struct admin *a = api->holds->admin; a != NULL; a = a->next)
		tally_add(sum, &a->ss->tally);
	holds_release(api->holds);
}

/* How often which class of SQLSTATE was sent to clients. */
static void get_errors(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	struct written *const x = written_new(WRITTEN_BYTES);
	struct tally sum = { .errors = { { 0 } } };

	(void)r;
	if (x == NULL) {
		api_refuse(c, 503, "out of memory");
		return;
	}
	add_tallies(api, &sum);
	json_put_raw(&x->w, "[");
	(void)tally_each(&sum, TALLY_TABLE_errors, put_error,
	    &(struct errors){ &x->w, "" });
	json_put_raw(&x->w, "]\n");
	api_answer(c, r, written_source(), x);
}

static void get_history(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	get_written(api, c, r, write_history);
}

static void get_log(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	if (api->log == NULL)
		api_refuse(c, 404, "http_log_lines is 0: the log is not kept");
	else if (api->no_log != NULL)
		api_refuse(c, 403, api->no_log);
	else
		get_written(api, c, r, write_log);
}

static void get_topic(const struct api *api, struct httpd_conn *c,
    const struct request *r, const char *topic)
{
	const struct view *const v = api_view_find(topic);
	const char *why;

	if (v == NULL) {
		api_refuse(c, 404, "no such topic");
		return;
	}
	struct api_view *const x =
	    api_view_new(api->holds->admin, v, r, &why);
	struct held *const held = x == NULL ? NULL :
	    held_new(api->holds, api_view_source(), x);

	if (held != NULL)
		api_answer(c, r, held_source(), held);
	else if (why != NULL)
		api_refuse(c, 400, why);
	else
		api_refuse(c, 503, "out of memory");
}

/* All that /api/health has the first ten of. */
static void get_findings(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	get_topic(api, c, r, "health");
}

static const struct {
	const char *name;
	void (*get)(const struct api *api, struct httpd_conn *c,
	    const struct request *r);
} others[] = {
	{ "errors", get_errors },
	{ "findings", get_findings },
	{ "health", get_health },
	{ "history", get_history },
	{ "log", get_log },
	{ "process", get_process },
};

void api_get(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	const char *const name = r->path + sizeof API_PREFIX - 1;

	if (api->nothing != NULL) {
		api_refuse(c, 403, api->nothing);
		return;
	}
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		if (strcmp(name, others[i].name) == 0) {
			others[i].get(api, c, r);
			return;
		}
	}
	get_topic(api, c, r, name);
}

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
static bool api_is_hidden(const struct column *c)
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

static int api_on_row(struct row_sink *sink, const struct cell *cells)
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
		if (api_is_hidden(&v->columns[i]))
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

static void api_put_end(struct api_view *x)
{
	view_walk_end(&x->walk);
	json_put_raw(&x->out.w, x->begun ? "\n]\n" : "[]\n");
	x->ended = true;
}

/* Write rows until there are enough for a chunk, or a slice is over. */
static void api_fill(struct api_view *x, size_t enough)
{
	const usec_t begin = time_precise();

	x->out.w.len = x->out.sent = 0;
	while (x->out.w.len < enough && time_precise() - begin < HTTPD_SLICE) {
		if (x->left != 0 && view_walk_next(&x->walk, &x->sink))
			continue;
		api_put_end(x);
		return;
	}
}

static enum httpd_more api_more(void *body, struct text *t)
{
	struct api_view *const x = body;

	if (x->out.sent == x->out.w.len && !x->ended)
		api_fill(x, (t->size - t->len) / 2);
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

static bool api_read_limit(struct api_view *x, const struct request *r)
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
		if (!api_is_hidden(&v->columns[i]) &&
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
	x->sink.row = api_on_row;
	x->left = -1;
	writer_init(&x->out.w, ROWS_BYTES);
	view_walk_begin(&x->walk, a, v);
	if (api_read_limit(x, r) + read_tests(x, r) == count_parameters(r))
		return x;
	*why = "parameters are limit=N, and column=VALUE four times";
	api_view_free(x);
	return NULL;
}

const struct httpd_source *api_view_source(void)
{
	static const struct httpd_source source = {
		.more = api_more, .free = api_view_free };

	return &source;
}
