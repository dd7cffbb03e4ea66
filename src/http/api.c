/* api.c - /api/...: what the console shows, the history and the log as JSON.
 * SPDX-License-Identifier: ISC */
#include "http/api.h"

#include <string.h>

#include "base/log.h"
#include "base/num.h"
#include "base/text.h"
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

static void get_view(const struct api *api, struct httpd_conn *c,
    const struct request *r)
{
	const struct view *const v =
	    api_view_find(r->path + sizeof API_PREFIX - 1);
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

static const struct {
	const char *name;
	void (*get)(const struct api *api, struct httpd_conn *c,
	    const struct request *r);
} others[] = {
	{ "health", get_health },
	{ "history", get_history },
	{ "log", get_log },
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
	get_view(api, c, r);
}
