/* http.c - requests by HTTP: who may send them, the answers, the health.
 * SPDX-License-Identifier: ISC */
#include "http/http.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/text.h"
#include "console/admin.h"
#include "console/driver_query.h"
#include "console/judgement.h"
#include "http/api.h"
#include "http/exposition.h"
#include "http/gather.h"
#include "http/history.h"
#include "http/httpd.h"
#include "http/json.h"
#include "http/metrics.h"
#include "http/page.h"
#include "http/request.h"
#include "pool/catalog.h"
#include "pool/lobby.h"
#include "session/sessions.h"
#include "upstream/tls_setup.h"

#define RETRY (2 * USEC)	/* after an address could not be had */
#define ADDR_BYTES 64
#define NAME_BYTES 256		/* of a database in a question */

struct http {
	struct holds holds;	/* the admin is borrowed */
	struct sessions *ss;	/* borrowed from it: the first worker's */
	struct httpd *httpd;	/* owned; NULL: nothing is open */
	struct page *page;	/* owned, as these: NULL where nothing is */
	struct history *history;
	struct log_ring *log;	/* NULL: no lines are kept */
	char *addr;		/* owned: as opened; NULL */
	int port;
	usec_t retry;		/* not all could be opened: again then; 0 */
	bool warned;		/* ... as the log says */
};

#define ASK_LOCALHOST "without a token, from this machine, ask " \
	"http://localhost"

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

/* Log a refusal like a failed login, and as often. */
static void http_log_refusal(const struct http *h, struct httpd_conn *c)
{
	struct lobby_guest guess = { .voice = LOBBY_UNDECIDED };
	char from[NET_TEXT_MAX];
	const int rate = sessions_settings(h->ss)->auth_failure_log_rate;

	if (lobby_speaks(&h->ss->lobby, &guess, (unsigned)rate, time_now()))
		log_warning("HTTP: wrong token from %s",
		    net_format(httpd_peer(c), from, sizeof from));
}

/* The same; a guess that was wrong is logged. */
static bool is_let_in(const struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	if (may_know(h, r))
		return true;
	if (r->authorized)
		http_log_refusal(h, c);
	return false;
}

static void demand_token(struct httpd_conn *c)
{
	static const char body[] = "a token is needed\n";

	httpd_reply(c, &(struct httpd_head){
		.status = 401, .type = "text/plain",
		.extra = "WWW-Authenticate: Bearer\r\n",
	}, body, sizeof body - 1);
}

static bool all_turn(const struct http *h)
{
	const struct admin *const a = h->holds.admin;

	return a->ops->all_turn(a->app);
}

/* Whoever hears this has heard of a loop that turns; the others' are watched. */
static void get_healthz(struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	const bool alive = all_turn(h);
	char body[64];
	struct text t;

	(void)r;
	text_init(&t, body, sizeof body);
	text_addf(&t, "{\"alive\": %s}\n", alive ? "true" : "false");
	reply(c, alive ? 200 : 503, json, &t);
}

/*
 * Why this client is told nothing of users, addresses and settings; NULL: it is
 * told. A browser on this machine may have been led here by the name of another
 * site, whose scripts it trusts with what we answer. Clients on other machines
 * were admitted when http_listen_addr was set, whatever Host they send.
 */
static const char *keep_all_from(const struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	if (h->ss->catalog->config->http_token.given ||
	    !access_is_local(httpd_peer(c)) ||
	    access_names_us(r->host) || access_names_host(r->host))
		return NULL;
	return ASK_LOCALHOST;
}

/* let_in: but not by that name. */
static void turn_away(struct httpd_conn *c, bool let_in)
{
	if (let_in)
		reply_plain(c, 403, ASK_LOCALHOST "\n");
	else
		demand_token(c);
}

static enum health http_check(const struct http *h,
    const struct health_question *q, struct text *t)
{
	if (!holds_take(&h->holds))
		return health_of_hung(t);
	const enum health health = health_check(h->holds.admin, q, t);

	holds_release(&h->holds);
	return health;
}

static void get_readyz(struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	static const int statuses[] = {
		[HEALTH_READY] = 200,
		[HEALTH_NOT_READY] = 503,
		[HEALTH_NO_DATABASE] = 404,
	};
	char body[HEALTH_BYTES], name[NAME_BYTES], strict[8] = "0";
	struct text t;

	text_init(&t, body, sizeof body);
	const bool of_database = request_parameter(r, "database", name,
	    sizeof name);
	const bool has_strict = request_parameter(r, "strict", strict,
	    sizeof strict);

	if ((r->query[0] != '\0' && !of_database && !has_strict) ||
	    (strcmp(strict, "0") != 0 && strcmp(strict, "1") != 0)) {
		reply_plain(c, 400, "the parameters are database=NAME and "
		    "strict=1\n");
		return;
	}
	const bool let_in = is_let_in(h, c, r);
	const bool told = let_in && keep_all_from(h, c, r) == NULL;

	/* which databases there are is not for strangers */
	if (of_database && !told) {
		turn_away(c, let_in);
		return;
	}
	const enum health health = http_check(h, &(struct health_question){
		.database = of_database ? name : NULL,
		.strict = strict[0] == '1',
	}, &t);

	if (!told) {
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
		.admin = h->holds.admin,
		.version = version_of(set->console_version)->text,
		.bouncer = set->http_pgbouncer_names != 0,
		.max = (uint64_t)set->http_max_series,
	};
	const char *const type = exposition_type(r->accept, &order.open);

	const bool let_in = is_let_in(h, c, r);

	if (!let_in || keep_all_from(h, c, r) != NULL) {
		turn_away(c, let_in);
		return;
	}
	if (!all_turn(h)) {
		reply_plain(c, 503, "a worker hangs\n");
		return;
	}
	struct metrics *const m = metrics_new(&order);
	struct held *const held = m == NULL ? NULL :
	    held_new(&h->holds, metrics_source(), m);

	if (held == NULL)
		reply_plain(c, 503, "out of memory\n");
	else
		httpd_stream(c, &(struct httpd_head){
			.status = 200, .type = type }, held_source(), held);
}

/* Why this client may not read the log; NULL: it may. */
static const char *keep_log_from(const struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	if (h->ss->catalog->config->http_token.given)
		return NULL;
	if (!access_is_local(httpd_peer(c)) || r->forwarded)
		return "without a token the log is for this machine only";
	return access_names_us(r->host) ? NULL :
	    "without a token the log is for http://localhost only";
}

static void get_api(struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	const struct api api = {
		.holds = &h->holds,
		.history = h->history,
		.log = h->log,
		.nothing = keep_all_from(h, c, r),
		.no_log = keep_log_from(h, c, r),
	};

	if (is_let_in(h, c, r))
		api_get(&api, c, r);
	else
		demand_token(c);
}

/* For all clients: the page has no data, only the script that asks for data. */
static void get_page(struct http *h, struct httpd_conn *c,
    const struct request *r)
{
	page_reply(h->page, c, &(struct page_facts){
		.token = !may_know(h, &(struct request){
			.authorization = "" }),
		.log = h->log != NULL && keep_log_from(h, c, r) == NULL });
}

static const struct {
	const char *path;
	void (*get)(struct http *h, struct httpd_conn *c,
	    const struct request *r);
} pages[] = {
	{ "/healthz", get_healthz },
	{ "/readyz", get_readyz },
	{ "/metrics", get_metrics },
	{ "/", get_page },
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
	if (strncmp(r->path, API_PREFIX, sizeof API_PREFIX - 1) == 0)
		get_api(arg, c, r);
	else
		reply_plain(c, 404, "there is /, /api/, /healthz, /readyz and "
		    "/metrics\n");
}

/* --- where --- */

static void open_addr(struct http *h, const struct net_addr *addr)
{
	char name[NET_TEXT_MAX];
	struct err e;

	if (httpd_listens(h->httpd, addr))
		return;
	net_format(addr, name, sizeof name);
	if (httpd_listen(h->httpd, addr, &e) == 0) {
		log_info("listening on %s for HTTP", name);
		return;
	}
	if (!h->warned)
		log_warning("HTTP: %s, trying again", e.text);
	h->warned = true;
	h->retry = time_now() + RETRY;
}

/* word is one item of http_listen_addr. */
static void http_open_word(struct http *h, const char *word)
{
	struct net_addr addrs[] = {
		{ .family = NET_IPV4, .port = (uint16_t)h->port },
		{ .family = NET_IPV6, .port = (uint16_t)h->port },
	};
	size_t n = sizeof addrs / sizeof addrs[0];

	if (strcmp(word, "*") != 0) {
		n = 1;
		if (net_parse_ip(word, (uint16_t)h->port, addrs) < 0) {
			log_error("http_listen_addr: '%s' is not an address",
			    word);
			return;
		}
	}
	for (size_t i = 0; i < n; i++)
		open_addr(h, &addrs[i]);
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
			http_open_word(h, word);
	}
}

/* Keep so many lines of the log; requests being answered have copies. */
static void keep_log(struct http *h, size_t lines)
{
	if (lines == (h->log != NULL ? log_ring_size(h->log) : 0))
		return;
	log_set_tap(NULL, NULL);
	log_ring_free(&h->log);
	if (lines == 0)
		return;
	h->log = log_ring_new(lines);
	if (h->log != NULL)
		log_set_tap(log_ring_put, h->log);
}

static void close_all(struct http *h)
{
	httpd_free(&h->httpd);
	holds_free_late(&h->holds);
	keep_log(h, 0);
	history_free(&h->history);
	page_free(&h->page);
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

	if (h->httpd != NULL) {
		httpd_set_tls(h->httpd, h->ss->tls->http);
		keep_log(h, (size_t)set->http_log_lines);
	}
	if (h->port == set->http_listen_port &&
	    (h->port == 0 || strcmp(h->addr, addr) == 0))
		return;
	close_all(h);
	if (set->http_listen_port == 0)
		return;
	h->addr = mem_strdup(addr);
	h->httpd = httpd_new(h->ss->loop, on_request, h);
	h->page = page_new();
	h->history = history_new(h->holds.admin, time_now());
	if (h->addr == NULL || h->httpd == NULL || h->page == NULL ||
	    h->history == NULL) {
		log_error("out of memory: nothing listens for HTTP");
		close_all(h);
		return;
	}
	h->port = set->http_listen_port;
	keep_log(h, (size_t)set->http_log_lines);
	httpd_set_tls(h->httpd, h->ss->tls->http);
	open_all(h);
}

void http_tick(struct http *h, usec_t now)
{
	if (h->httpd == NULL)
		return;
	httpd_tick(h->httpd, now);
	holds_free_late(&h->holds);
	if (h->retry == 0 || now < h->retry)
		return;
	h->retry = 0;
	open_all(h);
}

bool http_go_on(struct http *h, usec_t now)
{
	if (h->httpd == NULL || !history_is_due(h->history, now) ||
	    !holds_take(&h->holds))
		return false;
	const bool more = history_tick(h->history, h->holds.admin, now);

	holds_release(&h->holds);
	return more;
}

struct http *http_new(const struct admin *a)
{
	struct http *const h = mem_zalloc(sizeof *h);

	if (h == NULL)
		return NULL;
	h->holds.admin = a;
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

bool access_is_local(const struct net_addr *peer)
{
	static const char *const nets[] = { "127.0.0.0/8", "::1/128" };

	for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
		struct net_cidr net;

		if (net_parse_cidr(nets[i], NULL, &net) == 0 &&
		    net_cidr_has(&net, peer))
			return true;
	}
	return false;
}

/* Of this machine, and whole, so no name that begins like one. */
static bool http_is_address(const char *host)
{
	struct net_addr a;

	return strncmp(host, "127.", 4) == 0 &&
	    net_parse_ip(host, 1, &a) == 0 && access_is_local(&a);
}

/* Text that may follow a name: nothing, or a port. */
static bool is_port(const char *s)
{
	return s[0] == '\0' || (s[0] == ':' && s[1] != '\0' &&
	    s[1 + strspn(s + 1, "0123456789")] == '\0');
}

/* The name in the value of Host, NULL: none that is ours. */
static const char *name_of(const char *host, char *buf, size_t size)
{
	const size_t len = host[0] == '[' ? strcspn(host, "]") + 1 :
	    strcspn(host, ":");

	if (len >= size || len > strlen(host) || !is_port(host + len))
		return NULL;
	memcpy(buf, host, len);
	buf[len] = '\0';
	return buf;
}

bool access_names_us(const char *host)
{
	char buf[64];
	const char *const name = name_of(host, buf, sizeof buf);

	/* no browser leaves Host out */
	if (host[0] == '\0')
		return true;
	if (name == NULL)
		return false;
	return http_is_address(name) || strcmp(name, "[::1]") == 0 ||
	    strcasecmp(name, "localhost") == 0;
}

bool access_names_host(const char *host)
{
	char buf[256], ours[256] = "";
	const char *const name = name_of(host, buf, sizeof buf);

	if (name == NULL || gethostname(ours, sizeof ours - 1) != 0)
		return false;
	return ours[0] != '\0' && strcasecmp(name, ours) == 0;
}

#define TOLD 10			/* reasons; of more the number is told */
#define CAUSE_BYTES 200		/* of what a server said */
#define HEALTH_NAME_BYTES 63

/* What is not well, so far. */
struct reasons {
	struct text *t;		/* borrowed */
	unsigned count;
	bool strict;		/* outages of databases are against being ready */
	bool against;		/* something is */
};

/* A string of JSON, of max bytes of s at most. */
static void add_string(struct text *t, const char *s, size_t max)
{
	const char *const begin = s;

	text_add(t, "\"");
	while (*s != '\0' && (size_t)(s - begin) < max) {
		char out[JSON_CHARACTER];
		const size_t n = json_character(&s, out);

		text_add_bytes(t, out, n);
	}
	text_add(t, "\"");
}

static void add_member(struct text *t, const char *name, const char *value,
    size_t max)
{
	if (value == NULL)
		return;
	text_addf(t, ", \"%s\": ", name);
	add_string(t, value, max);
}

static void add_reason(void *arg, const struct finding *f)
{
	struct reasons *const r = arg;

	r->against = r->against || f->effect == FINDING_UNREADY ||
	    (r->strict && f->effect == FINDING_OUTAGE);
	if (r->count++ >= TOLD)
		return;
	text_addf(r->t, "%s{\"reason\": ", r->count > 1 ? ", " : "");
	add_string(r->t, f->reason, CAUSE_BYTES);
	add_member(r->t, "state", judgement_name(f->word), HEALTH_NAME_BYTES);
	add_member(r->t, "database", f->database, HEALTH_NAME_BYTES);
	add_member(r->t, "user", f->user, HEALTH_NAME_BYTES);
	if (f->age >= 0)
		text_addf(r->t, ", \"seconds\": %lld",
		    (long long)(f->age / USEC));
	add_member(r->t, "detail", f->detail, CAUSE_BYTES);
	text_add(r->t, "}");
}

static bool http_is_there(const struct admin *a, const char *name)
{
	for (; a != NULL; a = a->next) {
		if (catalog_find_database(a->ss->catalog, name) != NULL)
			return true;
	}
	return false;
}

enum health health_of_hung(struct text *t)
{
	text_add(t, "{\"reasons\": [{\"reason\": \"a worker hangs\", "
	    "\"state\": \"down\"}], \"state\": \"down\", "
	    "\"ready\": false}\n");
	return HEALTH_NOT_READY;
}

enum health health_check(const struct admin *a,
    const struct health_question *q, struct text *t)
{
	const struct config *const config = a->ss->catalog->config;
	struct reasons r = { .t = t,
		.strict = q->strict || q->database != NULL };

	if (q->database != NULL && config->auto_db == NULL &&
	    !http_is_there(a, q->database)) {
		text_add(t, "{\"ready\": false, \"reasons\": "
		    "[{\"reason\": \"no such database\"}]}\n");
		return HEALTH_NO_DATABASE;
	}
	text_add(t, "{\"reasons\": [");
	const enum judgement word = judge(a, q->database, add_reason, &r);

	if (r.count > TOLD)
		text_addf(t, ", {\"reason\": \"%u more\"}", r.count - TOLD);
	text_addf(t, "], \"state\": \"%s\", \"ready\": %s}\n",
	    judgement_name(word), r.against ? "false" : "true");
	return r.against ? HEALTH_NOT_READY : HEALTH_READY;
}
