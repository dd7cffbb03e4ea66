/* http.c - what is seen of the pooler by HTTP: its health, its numbers.
 * SPDX-License-Identifier: ISC */
#include "http/http.h"

#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/text.h"
#include "console/admin.h"
#include "console/version.h"
#include "http/exposition.h"
#include "http/health.h"
#include "http/httpd.h"
#include "http/metrics.h"
#include "http/request.h"
#include "session/sessions.h"
#include "session/tls_setup.h"

#define RETRY (2 * USEC)	/* after an address could not be had */
#define ADDR_BYTES 64
#define NAME_BYTES 256		/* of a database in a question */

struct http {
	const struct admin *admin;	/* borrowed */
	struct sessions *ss;	/* borrowed: its */
	struct httpd *httpd;	/* owned; NULL: nothing is open */
	char *addr;		/* owned: as opened; NULL */
	int port;
	usec_t retry;		/* not all could be opened: again then; 0 */
	bool warned;		/* ... as the log says */
};

static const char json[] = "application/json";

/* --- what can be asked for --- */

static void reply(struct httpd_conn *c, int status, const char *type,
    const struct text *body)
{
	httpd_reply(c, &(struct httpd_head){ .status = status, .type = type },
	    body->at, body->len);
}

static void reply_plain(struct httpd_conn *c, int status, const char *body)
{
	httpd_reply(c, &(struct httpd_head){
		.status = status, .type = "text/plain" },
	    body, strlen(body));
}

/* (RFC 6750) A file that was named and not read yet lets nobody in. */
static bool may_know(const struct http *h, const struct request *r)
{
	static const char scheme[] = "Bearer ";
	const struct config *const config = h->ss->catalog->config;
	const char *const given = r->authorization;

	if (!config->http_token.given)
		return config->set.http_auth_token_file[0] == '\0';
	if (strncasecmp(given, scheme, sizeof scheme - 1) != 0)
		return false;
	return token_is(&config->http_token, given + sizeof scheme - 1);
}

static void demand_token(struct httpd_conn *c)
{
	static const char body[] = "a token is needed\n";

	httpd_reply(c, &(struct httpd_head){
		.status = 401, .type = "text/plain",
		.extra = "WWW-Authenticate: Bearer\r\n",
	}, body, sizeof body - 1);
}

/* Whoever hears this has heard of a loop that turns. */
static void get_healthz(struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	static const char body[] = "{\"alive\": true}\n";

	(void)h;
	(void)r;
	httpd_reply(c, &(struct httpd_head){ .status = 200, .type = json },
	    body, sizeof body - 1);
}

static void get_readyz(struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	static const int statuses[] = {
		[HEALTH_READY] = 200,
		[HEALTH_NOT_READY] = 503,
		[HEALTH_NO_DATABASE] = 404,
	};
	char body[HEALTH_BYTES], name[NAME_BYTES];
	struct text t;

	text_init(&t, body, sizeof body);
	if (r->query[0] != '\0' &&
	    !request_parameter(r, "database", name, sizeof name)) {
		reply_plain(c, 400, "the only parameter is database=NAME\n");
		return;
	}
	/* which databases there are is not for strangers */
	if (r->query[0] != '\0' && !may_know(h, r)) {
		demand_token(c);
		return;
	}
	const enum health health = health_check(h->ss,
	    r->query[0] != '\0' ? name : NULL, &t);

	if (!may_know(h, r)) {
		text_init(&t, body, sizeof body);
		text_addf(&t, "{\"ready\": %s}\n",
		    health == HEALTH_READY ? "true" : "false");
	}
	reply(c, statuses[health], json, &t);
}

static void get_metrics(struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	const struct settings *const set = sessions_settings(h->ss);
	struct metrics_order order = {
		.ss = h->ss,
		.version = version_of(set->console_version)->text,
		.bouncer = set->http_pgbouncer_names != 0,
		.max = (uint64_t)set->http_max_series,
	};
	const char *const type = exposition_type(r->accept, &order.open);

	if (!may_know(h, r)) {
		demand_token(c);
		return;
	}
	struct metrics *const m = metrics_new(&order);

	if (m == NULL)
		reply_plain(c, 503, "out of memory\n");
	else
		httpd_stream(c, &(struct httpd_head){
			.status = 200, .type = type }, metrics_source(), m);
}

static const struct {
	const char *path;
	void (*get)(struct http *h, struct httpd_conn *c,
	    const struct request *r);
} pages[] = {
	{ "/healthz", get_healthz },
	{ "/readyz", get_readyz },
	{ "/metrics", get_metrics },
};

static void on_request(void *arg, struct httpd_conn *c,
    const struct request *r)
{
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		if (strcmp(r->path, pages[i].path) == 0) {
			pages[i].get(arg, c, r);
			return;
		}
	}
	reply_plain(c, 404, "there is /healthz, /readyz and /metrics\n");
}

/* --- where --- */

static void open_addr(struct http *h, const char *word)
{
	char name[NET_TEXT_MAX];
	struct net_addr addr;
	struct err e;

	if (net_parse_ip(word, (uint16_t)h->port, &addr) < 0) {
		log_error("http_listen_addr: '%s' is not an address", word);
		return;
	}
	if (httpd_listens(h->httpd, &addr))
		return;
	net_format(&addr, name, sizeof name);
	if (httpd_listen(h->httpd, &addr, &e) == 0) {
		log_info("listening on %s for HTTP", name);
		return;
	}
	if (!h->warned)
		log_warning("HTTP: %s, trying again", e.text);
	h->warned = true;
	h->retry = time_now() + RETRY;
}

static void open_all(struct http *h)
{
	for (const char *at = h->addr; *at != '\0';) {
		char word[ADDR_BYTES];
		struct text t;

		at += strspn(at, ", \t");
		const size_t len = strcspn(at, ", \t");

		text_init(&t, word, sizeof word);
		text_add_bytes(&t, at, len);
		at += len;
		if (len > 0)
			open_addr(h, word);
	}
}

static void close_all(struct http *h)
{
	httpd_free(&h->httpd);
	mem_free(h->addr);
	h->addr = NULL;
	h->port = 0;
	h->retry = 0;
	h->warned = false;
}

void http_apply(struct http *h)
{
	const struct settings *const set = sessions_settings(h->ss);
	const char *const addr = set->http_listen_addr;

	if (h->httpd != NULL)
		httpd_set_tls(h->httpd, h->ss->tls->http);
	if (h->port == set->http_listen_port &&
	    (h->port == 0 || strcmp(h->addr, addr) == 0))
		return;
	close_all(h);
	if (set->http_listen_port == 0)
		return;
	h->addr = mem_strdup(addr);
	h->httpd = httpd_new(h->ss->loop, on_request, h);
	if (h->addr == NULL || h->httpd == NULL) {
		log_error("out of memory: nothing listens for HTTP");
		close_all(h);
		return;
	}
	h->port = set->http_listen_port;
	httpd_set_tls(h->httpd, h->ss->tls->http);
	open_all(h);
}

void http_tick(struct http *h, usec_t now)
{
	if (h->httpd == NULL)
		return;
	httpd_tick(h->httpd, now);
	if (h->retry == 0 || now < h->retry)
		return;
	h->retry = 0;
	open_all(h);
}

struct http *http_new(const struct admin *a)
{
	struct http *const h = mem_zalloc(sizeof *h);

	if (h == NULL)
		return NULL;
	h->admin = a;
	h->ss = a->ss;
	return h;
}

void http_free(struct http **hp)
{
	struct http *const h = *hp;

	*hp = NULL;
	if (h == NULL)
		return;
	close_all(h);
	mem_free(h);
}
