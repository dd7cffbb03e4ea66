/* api.c - /api/...: what the console shows, the history and the log as JSON.
 * SPDX-License-Identifier: ISC */
#include "http/api.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "console/admin.h"
#include "http/api_view.h"
#include "http/gather.h"
#include "http/health.h"
#include "http/held.h"
#include "http/history.h"
#include "http/httpd.h"
#include "http/json.h"
#include "http/log_ring.h"
#include "http/request.h"
#include "http/written.h"
#include "pool/tally.h"
#include "session/sessions.h"

#define WRITTEN_BYTES ((size_t)64 << 20)

static const char json[] = "application/json";

static void refuse(struct httpd_conn *c, int status, const char *why)
{
	char body[256];
	struct text t;

	/* each why is one of ours: nothing in it needs a backslash */
	text_init(&t, body, sizeof body);
	text_addf(&t, "{\"error\": \"%s\"}\n", why);
	httpd_reply(c, &(struct httpd_head){ .status = status, .type = json },
	    t.at, t.len);
}

static void answer(struct httpd_conn *c, const struct request *r,
    const struct httpd_source *source, void *body)
{
	struct gather *const g = gather_new(&(struct gather_order){
		.source = source, .body = body, .type = json,
		.if_none_match = r->if_none_match });

	if (g == NULL)
		refuse(c, 503, "out of memory");
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
		refuse(c, 400, "the only parameter is since=NUMBER");
		return;
	}
	struct written *const x = written_new(WRITTEN_BYTES);

	if (x != NULL)
		write(api, since, &x->w);
	if (x == NULL)
		refuse(c, 503, "out of memory");
	else
		answer(c, r, written_source(), x);
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
		refuse(c, 503, "out of memory");
	else
		answer(c, r, written_source(), x);
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
		refuse(c, 503, "out of memory");
	else
		answer(c, r, written_source(), x);
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
		refuse(c, 503, "out of memory");
		return;
	}
	add_tallies(api, &sum);
	json_put_raw(&x->w, "[");
	(void)tally_each(&sum, TALLY_TABLE_errors, put_error,
	    &(struct errors){ &x->w, "" });
	json_put_raw(&x->w, "]\n");
	answer(c, r, written_source(), x);
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
		refuse(c, 404, "http_log_lines is 0: the log is not kept");
	else if (api->no_log != NULL)
		refuse(c, 403, api->no_log);
	else
		get_written(api, c, r, write_log);
}

static void get_topic(const struct api *api, struct httpd_conn *c,
    const struct request *r, const char *topic)
{
	const struct view *const v = api_view_find(topic);
	const char *why;

	if (v == NULL) {
		refuse(c, 404, "no such topic");
		return;
	}
	struct api_view *const x =
	    api_view_new(api->holds->admin, v, r, &why);
	struct held *const held = x == NULL ? NULL :
	    held_new(api->holds, api_view_source(), x);

	if (held != NULL)
		answer(c, r, held_source(), held);
	else if (why != NULL)
		refuse(c, 400, why);
	else
		refuse(c, 503, "out of memory");
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
		refuse(c, 403, api->nothing);
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
