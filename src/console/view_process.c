/* view_process.c - SHOW VERSION, CONFIG, STATE, LISTS, MEM, COUNTERS, DNS,
 * WORKERS.
 * SPDX-License-Identifier: ISC */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/net.h"
#include "base/text.h"
#include "conf/ldap_options.h"
#include "console/admin.h"
#include "console/driver_query.h"
#include "console/judgement.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "io/dns.h"
#include "login/peer.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "pool/tally.h"
#include "upstream/tls_setup.h"

#define VERSIONS(X) \
	X(TEXT, "version", PLAIN, cell_text(version_of( \
	    sessions_settings(a->ss)->console_version)->text))

static const struct column version_columns[] = { VERSIONS(VIEW_COLUMN) };

#define CONFIG(X) \
	X(TEXT, "key", PLAIN, cell_text(rows[i].name)) \
	X(TEXT, "value", PLAIN, \
	    cell_text(view_process_shown(&rows[i], set, buf, sizeof buf))) \
	X(TEXT, "default", PLAIN, cell_text(rows[i].def)) \
	X(TEXT, "changeable", PLAIN, \
	    cell_text(is_changeable(&rows[i], set) ? "yes" : "no")) \
	X(TEXT, "source", EXTENDED, cell_text(config_source(config, i)))

static const struct column config_columns[] = { CONFIG(VIEW_COLUMN) };

#define HEALTH(X) \
	X(TEXT, "state", PLAIN, cell_text(judgement_name(f->word))) \
	X(TEXT, "reason", PLAIN, cell_text(f->reason)) \
	X(TEXT, "database", PLAIN, cell_text(f->database)) \
	X(TEXT, "user", PLAIN, cell_text(f->user)) \
	X(INT8, "seconds", PLAIN, f->age < 0 ? cell_text(NULL) : \
	    cell_number(f->age / USEC)) \
	X(TEXT, "detail", PLAIN, cell_text(f->detail))

static const struct column health_columns[] = { HEALTH(VIEW_COLUMN) };

static const struct column state_columns[] = {
	{ "key", COL_TEXT, SHAPE_PLAIN },
	{ "value", COL_TEXT, SHAPE_PLAIN },
};

#define LISTS(X) \
	X(TEXT, "list", PLAIN, cell_text(rows[i].list)) \
	X(INT4, "items", PLAIN, cell_number(rows[i].items))

static const struct column lists_columns[] = { LISTS(VIEW_COLUMN) };

#define MEM(X) \
	X(TEXT, "name", PLAIN, cell_text(mem_name(kind))) \
	X(INT4, "size", PLAIN, cell_number((int64_t)mem_object_size(&st))) \
	X(INT4, "used", PLAIN, cell_number((int64_t)st.used)) \
	X(INT4, "free", PLAIN, cell_number(0)) \
	X(INT4, "memtotal", PLAIN, cell_number((int64_t)st.bytes))

static const struct column mem_columns[] = { MEM(VIEW_COLUMN) };

static void version_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	sink->row(sink, VIEW_ROW(VERSIONS));
}

/* A user of the console that may see settings may not see passwords. */
static const char *view_process_shown(const struct option_row *o,
    const struct settings *s, char *buf, size_t size)
{
	const char *text = option_show(o, s, buf, size);

	return text != NULL && strcmp(o->name, "auth_ldap_options") == 0 ?
	    ldap_options_hide(text, buf, size) : text;
}

static bool is_changeable(const struct option_row *o, const struct settings *s)
{
	return o->effect != OPT_START && !option_is_locked(o->name, s);
}

static void config_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);
	const struct settings *const set = sessions_settings(a->ss);
	const struct config *const config = a->ss->catalog->config;

	(void)v;
	for (size_t i = 0; i < count; i++) {
		char buf[2 * LDAP_OPTIONS_MAX];
		const int rc = sink->row(sink, VIEW_ROW(CONFIG));

		if (rc != 0)
			return;
	}
}

static int drain_rows(const struct admin *a, struct row_sink *sink)
{
	const struct departure *const d = &a->ss->departure;
	char left[16], seconds[16];
	const struct {
		const char *key, *value;
	} rows[] = {
		{ "draining", departure_phase(d) },
		{ "clients_left", left },
		{ "seconds_left", seconds },
	};
	int rc = 0;

	if (!departure_is_on(d))
		return 0;
	snprintf(left, sizeof left, "%u", d->left);
	snprintf(seconds, sizeof seconds, "%u", departure_seconds(d,
	    time_now()));
	for (size_t i = 0; i < VIEW_COUNT(rows) && rc == 0; i++)
		rc = sink->row(sink, (const struct cell[]){
		    cell_text(rows[i].key), cell_text(rows[i].value) });
	return rc;
}

/* Whole days, below 0 of one that has expired. */
static int certificate_rows(const struct admin *a, struct row_sink *sink)
{
	int64_t left;
	int rc = 0;

	for (int i = 0; a->ss->tls != NULL && i < TLS_CERTS && rc == 0; i++) {
		const enum tls_certificate which = (enum tls_certificate)i;
		char key[64], days[24];

		if (!tls_setup_seconds_left(a->ss->tls, which, &left))
			continue;
		snprintf(key, sizeof key, "%s_days",
		    tls_certificate_setting(which));
		snprintf(days, sizeof days, "%lld", (long long)(left < 0 ?
		    (left + 1) / 86400 - 1 : left / 86400));
		rc = sink->row(sink, (const struct cell[]){ cell_text(key),
		    cell_text(days) });
	}
	return rc;
}

/* By PAUSE or KILL of each, although the whole is not paused. */
static bool all_are_paused(const struct admin *a)
{
	unsigned paused = 0;

	for (; a != NULL; a = a->next) {
		const struct database *db = a->ss->catalog->databases;

		for (; db != NULL; db = db->hh.next) {
			if (!db->console && !db->paused)
				return false;
			paused += db->paused;
		}
	}
	return paused > 0;
}

/* Of all workers; by what: the last one's of the first that has any. */
static int slow_rows(const struct admin *a, struct row_sink *sink)
{
	const char *by = NULL;
	char count[24], longest[24];
	uint64_t n = 0;
	usec_t most = 0;
	int rc = 0;

	for (; a != NULL; a = a->next) {
		n += a->slow.count;
		if (a->slow.longest > most)
			most = a->slow.longest;
		if (by == NULL && a->slow.count > 0)
			by = a->slow.by;
	}
	snprintf(count, sizeof count, "%" PRIu64, n);
	snprintf(longest, sizeof longest, "%" PRId64, most / 1000);
	const struct {
		const char *key, *value;
	} rows[] = {
		{ "slow_turns", count },
		{ "slow_turn_longest_ms", longest },
		{ "slow_turn_by", by },
	};

	for (size_t i = 0; i < VIEW_COUNT(rows) && n > 0 && rc == 0; i++)
		rc = sink->row(sink, (const struct cell[]){
		    cell_text(rows[i].key), cell_text(rows[i].value) });
	return rc;
}

static void state_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const bool suspended = a->ss->suspended;
	const bool paused = !suspended &&
	    (a->ss->catalog->paused || all_are_paused(a));
	const struct {
		const char *key;
		bool value;
	} rows[] = {
		{ "active", !paused && !suspended },
		{ "paused", paused },
		{ "suspended", suspended },
	};

	(void)v;
	for (size_t i = 0; i < VIEW_COUNT(rows); i++) {
		const int rc = sink->row(sink, (const struct cell[]){
			cell_text(rows[i].key),
			cell_text(rows[i].value ? "yes" : "no"),
		});

		if (rc != 0)
			return;
	}
	/* ours: SHUTDOWN DRAIN, slow_turn, certificates, DRAIN HOST */
	if (drain_rows(a, sink) != 0 || slow_rows(a, sink) != 0 ||
	    certificate_rows(a, sink) != 0)
		return;
	for (const struct drain *d = a->ss->catalog->drained; d != NULL;
	    d = d->next) {
		if (sink->row(sink, (const struct cell[]){
			cell_text("drained"), cell_text(d->host) }) != 0)
			return;
	}
}

struct health_sink {
	struct row_sink *sink;
	int rc;			/* of its latest row */
};

static void health_row(void *arg, const struct finding *f)
{
	struct health_sink *const h = arg;

	if (h->rc == 0)
		h->rc = h->sink->row(h->sink, VIEW_ROW(HEALTH));
}

/* The first row is the word for all; it has no reason. */
static void health_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct health_sink h = { .sink = sink };

	(void)v;
	health_row(&h, &(struct finding){
	    .word = judge(a, NULL, NULL, NULL), .age = -1 });
	(void)judge(a, NULL, health_row, &h);
}

static int64_t view_process_count_peers(const struct config *config)
{
	int64_t n = 0;

	for (const struct config_peer *p = config->peers; p != NULL;
	    p = p->next)
		n++;
	return n;
}

static void lists_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct sums l = sums_of(a);

	/* nothing is kept for later use */
	const struct {
		const char *list;
		int64_t items;
	} rows[] = {
		{ "databases", l.databases },
		{ "users", l.users },
		{ "peers", view_process_count_peers(a->ss->catalog->config) },
		{ "pools", l.pools },
		{ "peer_pools", HASH_COUNT(a->ss->peers) },
		{ "free_clients", 0 },
		{ "used_clients", l.clients },
		{ "login_clients", l.logins },
		{ "free_servers", 0 },
		{ "used_servers", l.servers },
		{ "dns_names", (int64_t)l.dns.names },
		{ "dns_zones", (int64_t)l.dns.zones },
		{ "dns_queries", (int64_t)l.dns.queries },
		{ "dns_pending", 0 },
	};

	(void)v;
	for (size_t i = 0; i < VIEW_COUNT(rows); i++) {
		const int rc = sink->row(sink, VIEW_ROW(LISTS));

		if (rc != 0)
			return;
	}
}

/* Bytes of one object; the average where they differ. */
static size_t mem_object_size(const struct mem_stat *st)
{
	if (st->size > 0)
		return st->size;
	return st->used > 0 ? st->bytes / st->used : 0;
}

static void mem_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		const struct mem_stat st = sums_of_memory(a,
		    (enum mem_kind)kind);
		const int rc = sink->row(sink, VIEW_ROW(MEM));

		if (rc != 0)
			return;
	}
}

struct view_group view_group_process(void)
{
	static const struct view views[] = {
		{ .topic = "CONFIG", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(config_columns),
		    .rows = config_rows, .over = VIEW_WHOLE },
		{ .topic = "VERSION", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(version_columns),
		    .rows = version_rows, .over = VIEW_WHOLE },
		{ .topic = "STATE", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(state_columns),
		    .rows = state_rows, .over = VIEW_WHOLE },
		{ .topic = "HEALTH", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(health_columns),
		    .rows = health_rows, .over = VIEW_WHOLE },
		{ .topic = "LISTS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(lists_columns),
		    .rows = lists_rows, .over = VIEW_WHOLE },
		{ .topic = "MEM", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(mem_columns),
		    .rows = mem_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}

#define LABEL_BYTES 160

#define COUNTERS_VIEW(X) \
	X(TEXT, "name", PLAIN, cell_text(out->name)) \
	X(TEXT, "label", PLAIN, cell_text(label)) \
	X(INT8, "value", PLAIN, cell_number((int64_t)n->value))

static const struct column counters_columns[] = {
	COUNTERS_VIEW(VIEW_COLUMN) };

struct out {
	struct row_sink *sink;
	const char *name;
};

static int view_process_put(void *arg, const struct tally_count *n)
{
	const struct out *const out = arg;
	struct row_sink *const sink = out->sink;
	char label[LABEL_BYTES];
	struct text t;

	text_init(&t, label, sizeof label);
	for (size_t i = 0; i < n->label_count; i++)
		text_addf(&t, "%s%s=%s", i > 0 ? ", " : "",
		    n->labels[i].name, n->labels[i].value);
	return sink->row(sink, VIEW_ROW(COUNTERS_VIEW));
}

static void counters_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct tally sum = { .errors = { { 0 } } };

	(void)v;
	for (; a != NULL; a = a->next)
		tally_add(&sum, &a->ss->tally);
	for (int i = 0; i < TALLY_TABLES; i++) {
		const enum tally_table table = (enum tally_table)i;
		struct out out = { sink, tally_name(table) };

		if (tally_each(&sum, table, view_process_put, &out) != 0)
			return;
	}
}

struct view_group view_group_counters(void)
{
	static const struct view views[] = {
		{ .topic = "COUNTERS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(counters_columns),
		    .rows = counters_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}

/* All addresses of a name, with their commas. */
#define ADDRS_TEXT_MAX (DNS_ADDRS_MAX * NET_TEXT_MAX)

#define HOSTS(X) \
	X(TEXT, "hostname", PLAIN, cell_text(n->name)) \
	X(INT8, "ttl", PLAIN, cell_number(n->ttl / USEC)) \
	X(TEXT, "addrs", PLAIN, cell_text(text))

static const struct column hosts_columns[] = { HOSTS(VIEW_COLUMN) };

#define ZONES(X) \
	X(TEXT, "zonename", PLAIN, cell_text(z->name)) \
	X(INT8, "serial", PLAIN, cell_number(z->serial)) \
	X(INT4, "count", PLAIN, cell_number(z->names))

static const struct column zones_columns[] = { ZONES(VIEW_COLUMN) };

static int host_row(void *arg, const struct dns_name *n)
{
	struct row_sink *const sink = arg;
	char text[ADDRS_TEXT_MAX], addr[NET_TEXT_MAX];
	struct text t;

	text_init(&t, text, sizeof text);
	for (unsigned i = 0; i < n->count; i++)
		text_addf(&t, "%s%s", i > 0 ? "," : "",
		    net_format(&n->addrs[i], addr, sizeof addr));
	return sink->row(sink, VIEW_ROW(HOSTS));
}

static void hosts_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	if (a->ss->dns != NULL)
		dns_each(a->ss->dns, host_row, sink);
}

static int zone_row(void *arg, const struct dns_zone *z)
{
	struct row_sink *const sink = arg;

	return sink->row(sink, VIEW_ROW(ZONES));
}

static void zones_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	if (a->ss->dns != NULL)
		dns_each_zone(a->ss->dns, zone_row, sink);
}

struct view_group view_group_dns(void)
{
	static const struct view views[] = {
		{ .topic = "DNS_HOSTS", VIEW_COLUMNS(hosts_columns),
		    .rows = hosts_rows, .over = VIEW_WHOLE },
		{ .topic = "DNS_ZONES", VIEW_COLUMNS(zones_columns),
		    .rows = zones_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}

#define WORKERS(X) \
	X(INT4, "worker", PLAIN, cell_number(ss->worker)) \
	X(INT4, "databases", PLAIN, cell_number(HASH_COUNT(c->databases))) \
	X(INT4, "pools", PLAIN, cell_number(HASH_COUNT(c->pools))) \
	X(INT4, "clients", PLAIN, cell_number(c->clients)) \
	X(INT4, "login_clients", PLAIN, cell_number(ss->logins)) \
	X(INT4, "servers", PLAIN, cell_number(ss->servers)) \
	X(INT4, "load_percent", PLAIN, load->known ? \
	    cell_number(load->percent) : cell_text(NULL)) \
	X(INT8, "longest_turn_us", PLAIN, load->known ? \
	    cell_number(load->longest) : cell_text(NULL)) \
	X(INT8, "servers_in", PLAIN, cell_number(ss->servers_in)) \
	X(INT8, "servers_out", PLAIN, cell_number(ss->servers_out)) \
	X(INT8, "clients_in", PLAIN, cell_number(ss->clients_in)) \
	X(INT8, "clients_out", PLAIN, cell_number(ss->clients_out)) \
	X(INT4, "handover_permille", PLAIN, load->known ? \
	    cell_number((load->handovers + 500) / 1000) : cell_text(NULL))

static const struct column workers_columns[] = { WORKERS(VIEW_COLUMN) };

static void workers_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct sessions *const ss = a->ss;
	const struct admin_load *const load = &a->load;
	struct catalog *const c = ss->catalog;

	(void)v;
	(void)sink->row(sink, VIEW_ROW(WORKERS));
}

struct view_group view_group_workers(void)
{
	static const struct view views[] = {
		{ .topic = "WORKERS", VIEW_COLUMNS(workers_columns),
		    .rows = workers_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
