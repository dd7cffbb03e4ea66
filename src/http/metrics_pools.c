/* metrics_pools.c - metrics of pools: clients and servers by state, waits,
 * SHOW STATS, SHOW LATENCIES.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "console/admin.h"
#include "http/metrics_parts.h"
#include "pool/wait.h"
#include "session/server.h"
#include "state/keep.h"

#define BIT(state) (1u << (state))
#define OF_SERVERS (1u << 31)	/* states of servers */

#define CL_WAITING (BIT(CLIENT_WAITING) | BIT(CLIENT_WELCOME) | \
	BIT(CLIENT_DEDICATED_WAITING))
#define SV_LOGIN (OF_SERVERS | BIT(SERVER_LOGIN) | BIT(SERVER_DEDICATED_LOGIN))

/* The columns of SHOW POOLS: states, and what they are called together. */
static const struct {
	const char *name;
	unsigned states;
} columns[] = {
	{ "active", BIT(CLIENT_ACTIVE) },
	{ "waiting", CL_WAITING },
	{ "active_cancel_req", BIT(CLIENT_CANCEL_SENT) },
	{ "waiting_cancel_req", BIT(CLIENT_CANCEL_WAITING) },
	{ "active", OF_SERVERS | BIT(SERVER_ACTIVE) },
	{ "active_cancel", OF_SERVERS | BIT(SERVER_ACTIVE_CANCEL) },
	{ "being_canceled", OF_SERVERS | BIT(SERVER_BEING_CANCELED) },
	{ "idle", OF_SERVERS | BIT(SERVER_IDLE) },
	{ "used", OF_SERVERS | BIT(SERVER_USED) },
	{ "tested", OF_SERVERS | BIT(SERVER_TESTED) },
	{ "login", SV_LOGIN },
	{ "listening", OF_SERVERS | BIT(SERVER_LISTENING) },
};

static int64_t metrics_pools_count_of(const struct pool *p, unsigned states)
{
	const bool servers = (states & OF_SERVERS) != 0;
	const unsigned *const counts = servers ? p->server_count :
	    p->client_count;
	const int all = servers ? SERVER_STATES : CLIENT_STATES;
	int64_t n = 0;

	for (int i = 0; i < all; i++) {
		if ((states & BIT(i)) != 0)
			n += counts[i];
	}
	return n;
}

static usec_t wait_of(const struct pool *p, enum client_state state)
{
	const struct pool_client *const head = p->clients[state];

	return head == NULL ? 0 : time_now() - head->wait_since;
}

static usec_t metrics_pools_longest_wait(const struct pool *p)
{
	usec_t longest = 0;

	for (int i = 0; i < CLIENT_STATES; i++) {
		if ((CL_WAITING & BIT(i)) != 0 &&
		    wait_of(p, (enum client_state)i) > longest)
			longest = wait_of(p, (enum client_state)i);
	}
	return longest;
}

/* --- ours --- */

static void put_states(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;

	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
		const struct label labels[] = { METRICS_POOL_LABELS(p),
			{ "state", columns[i].name } };

		if ((columns[i].states & OF_SERVERS) == f->what)
			metrics_put(m, labels, 3,
			    metrics_pools_count_of(p, columns[i].states));
	}
}

static void put_wait(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	const struct label labels[] = { METRICS_POOL_LABELS(p) };

	(void)f;
	exposition_put(&m->x,
	    &(struct sample){ .labels = labels,
		.label_count = 2,
		.value = metrics_pools_longest_wait(p),
		.micro = true });
}

static void put_failing(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	const struct label labels[] = { METRICS_POOL_LABELS(p) };

	(void)f;
	exposition_put(&m->x, &(struct sample){ .labels = labels,
	    .label_count = 2, .micro = true, .value = pool_is_down(p) ?
	    time_now() - p->failing_since : 0 });
}

/* As SHOW WAITS, where several states may have the same reason. */
static void put_reasons(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	int64_t counts[WAIT_REASONS] = { 0 };

	(void)f;
	for (int i = 0; i < CLIENT_STATES; i++) {
		if ((CL_WAITING & BIT(i)) != 0 && p->client_count[i] > 0)
			counts[wait_reason(p, (enum client_state)i,
			    m->ss->catalog, time_now())] += p->client_count[i];
	}
	for (int i = WAIT_NONE + 1; i < WAIT_REASONS; i++) {
		const struct label labels[] = { METRICS_POOL_LABELS(p),
			{ "reason", wait_name((enum wait_reason)i) } };

		if (counts[i] > 0)
			metrics_put(m, labels, 3, counts[i]);
	}
}

static int64_t count_pinned(const struct pool *p, unsigned pin)
{
	const struct pool_server *ps;
	int64_t n = 0;

	DL_FOREACH(p->servers[SERVER_ACTIVE], ps)
		n += (container_of(ps, struct server, ps)->keep.pins & pin) != 0;
	return n;
}

/* A server may be kept for several reasons, at any worker that has a part of p. */
static void put_pinned(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	char name[KEEP_PINS_MAX];

	(void)f;
	for (unsigned pin = 1; p->pinned + p->listeners > 0 &&
	    pin <= PIN_LAST; pin <<= 1) {
		const struct label labels[] = { METRICS_POOL_LABELS(p),
			{ "reason", keep_name_pins(pin, name) } };
		int64_t n = 0;

		for (const struct admin *a = m->first; a != NULL; a = a->next) {
			const struct pool *const part = view_fold_part(a, p);

			n += part == NULL ? 0 : count_pinned(part, pin);
		}
		if (n > 0)
			metrics_put(m, labels, 3, n);
	}
}

struct family_group metrics_pools(void)
{
	static const struct family families[] = {
		{ { "pgsluice_pool_clients", METRIC_GAUGE, NULL,
		    "Clients of a pool, by state, as SHOW POOLS." },
		    OVER_POOLS, 0, put_states, NULL },
		{ { "pgsluice_pool_servers", METRIC_GAUGE, NULL,
		    "Servers of a pool, by state, as SHOW POOLS." },
		    OVER_POOLS, OF_SERVERS, put_states, NULL },
		{ { "pgsluice_pool_longest_wait_seconds", METRIC_GAUGE,
		    "seconds", "Time that the first client in the queue has "
		    "waited." },
		    OVER_POOLS, 0, put_wait, NULL },
		{ { "pgsluice_pool_failing_seconds", METRIC_GAUGE, "seconds",
		    "Time for which a pool has had no server because logins "
		    "fail." },
		    OVER_POOLS, 0, put_failing, NULL },
		{ { "pgsluice_pool_waiting_clients", METRIC_GAUGE, NULL,
		    "Clients that wait for a server, by reason." },
		    OVER_POOLS, 0, put_reasons, NULL },
		{ { "pgsluice_pool_pinned_servers", METRIC_GAUGE, NULL,
		    "Servers that clients have pinned, by reason." },
		    OVER_POOLS, 0, put_pinned, NULL },
	};

	return FAMILY_GROUP(families, false);
}

/* --- of pgbouncer_exporter --- */

static void metrics_pools_put_count(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	const struct label labels[] = { METRICS_POOL_LABELS(p) };

	metrics_put(m, labels, 2, metrics_pools_count_of(p, f->what));
}

static void put_maxwait(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	const struct label labels[] = { METRICS_POOL_LABELS(p) };

	(void)f;
	/* whole ones: maxwait without maxwait_us */
	metrics_put(m, labels, 2, metrics_pools_longest_wait(p) / USEC);
}

#define BOUNCER(name, states, help) \
	{ { "pgbouncer_pools_" name, METRIC_GAUGE, NULL, help }, \
	    OVER_POOLS, states, metrics_pools_put_count, NULL }
#define SERVERS(state) (OF_SERVERS | BIT(state))

/* (spec/exporter-metrics.md) */
struct family_group metrics_pools_bouncer(void)
{
	static const struct family families[] = {
		BOUNCER("client_active_connections", BIT(CLIENT_ACTIVE),
		    "Clients linked to a server, or idle."),
		BOUNCER("client_active_cancel_connections",
		    BIT(CLIENT_CANCEL_SENT),
		    "Clients whose cancel request has been passed on."),
		BOUNCER("client_waiting_connections", CL_WAITING,
		    "Clients that wait for a server."),
		BOUNCER("client_waiting_cancel_connections",
		    BIT(CLIENT_CANCEL_WAITING),
		    "Clients whose cancel request has not been passed on yet."),
		BOUNCER("server_active_connections", SERVERS(SERVER_ACTIVE),
		    "Servers linked to a client."),
		BOUNCER("server_active_cancel_connections",
		    SERVERS(SERVER_ACTIVE_CANCEL),
		    "Servers that a cancel request is being sent to."),
		BOUNCER("server_being_canceled_connections",
		    SERVERS(SERVER_BEING_CANCELED),
		    "Servers that wait for cancel requests in flight."),
		BOUNCER("server_idle_connections", SERVERS(SERVER_IDLE),
		    "Servers ready for use."),
		BOUNCER("server_used_connections", SERVERS(SERVER_USED),
		    "Servers that are checked before their next use."),
		BOUNCER("server_testing_connections", SERVERS(SERVER_TESTED),
		    "Servers that run the reset or the check query."),
		BOUNCER("server_login_connections", SV_LOGIN,
		    "Servers that are being logged in to."),
		{ { "pgbouncer_pools_client_maxwait_seconds", METRIC_GAUGE,
		    NULL, "Age of the oldest client that waits, in seconds." },
		    OVER_POOLS, 0, put_maxwait, NULL },
	};

	return FAMILY_GROUP(families, true);
}

#define IS_TIME 0x100u		/* microseconds */
#define PLACE(counter) \
	((unsigned)(offsetof(struct counters, counter) / sizeof(uint64_t)))

static void put_counter(struct metrics *m, const struct family *f,
    const struct counters *c, const struct sample *labels)
{
	uint64_t values[COUNTERS];
	struct sample s = *labels;

	memcpy(values, c, sizeof values);
	s.value = (int64_t)values[f->what & ~IS_TIME];
	s.micro = (f->what & IS_TIME) != 0;
	exposition_put(&m->x, &s);
}

static void put_pool(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	const struct label labels[] = { METRICS_POOL_LABELS(p) };

	put_counter(m, f, &p->counted.now, &(struct sample){
		.labels = labels, .label_count = 2 });
}

static void metrics_pools_put_database(struct metrics *m,
    const struct family *f, const void *item)
{
	const struct database *const db = item;
	const struct label labels[] = { { "database", db->name } };
	struct counters sum = { 0 };

	if (db->pools == NULL)
		return;
	for (const struct pool *p = db->pools; p != NULL; p = p->db_next)
		counters_add(&sum, &p->counted.now);
	put_counter(m, f, &sum, &(struct sample){
		.labels = labels, .label_count = 1 });
}

#define POOL(name, what, unit, help) \
	{ { "pgsluice_pool_" name, METRIC_COUNTER, unit, help }, \
	    OVER_POOLS, what, put_pool, NULL }

struct family_group metrics_stats(void)
{
	static const struct family families[] = {
		POOL("server_assignments", PLACE(server_assignment_count),
		    NULL, "Servers lent to clients."),
		POOL("transactions", PLACE(xact_count), NULL,
		    "Transactions."),
		POOL("queries", PLACE(query_count), NULL, "Queries."),
		POOL("received_bytes", PLACE(received), "bytes",
		    "Bytes from clients."),
		POOL("sent_bytes", PLACE(sent), "bytes", "Bytes to clients."),
		POOL("transaction_seconds", IS_TIME | PLACE(xact_time),
		    "seconds", "Time in transactions."),
		POOL("query_seconds", IS_TIME | PLACE(query_time), "seconds",
		    "Time in queries."),
		POOL("wait_seconds", IS_TIME | PLACE(wait_time), "seconds",
		    "Time in which clients waited for servers."),
		POOL("client_parses", PLACE(client_parse_count), NULL,
		    "Prepared statements that clients made."),
		POOL("server_parses", PLACE(server_parse_count), NULL,
		    "Prepared statements that we made on servers."),
		POOL("binds", PLACE(bind_count), NULL,
		    "Prepared statements bound."),
		POOL("client_logins", PLACE(client_login_count), NULL,
		    "Clients that logged in."),
	};

	return FAMILY_GROUP(families, false);
}

/*
 * Exporters before 0.11 say stats where later ones say stats_totals, and have
 * the first seven only: dashboards of either kind are in the field.
 */
#define TOTALS(name, what, help) \
	{ { "pgbouncer_stats_totals_" name, METRIC_COUNTER, NULL, help }, \
	    OVER_DATABASES, what, metrics_pools_put_database, NULL }
#define BOTH(name, what, help) TOTALS(name, what, help), \
	{ { "pgbouncer_stats_" name, METRIC_COUNTER, NULL, help }, \
	    OVER_DATABASES, what, metrics_pools_put_database, NULL }

/* (spec/exporter-metrics.md) */
struct family_group metrics_stats_bouncer(void)
{
	static const struct family families[] = {
		BOTH("queries_pooled", PLACE(query_count),
		    "Total number of SQL queries pooled."),
		BOTH("queries_duration_seconds", IS_TIME | PLACE(query_time),
		    "Total seconds spent in queries."),
		BOTH("received_bytes", PLACE(received),
		    "Total bytes received from clients."),
		BOTH("sent_bytes", PLACE(sent),
		    "Total bytes sent to clients."),
		BOTH("client_wait_seconds", IS_TIME | PLACE(wait_time),
		    "Total seconds that clients waited for a server."),
		BOTH("sql_transactions_pooled", PLACE(xact_count),
		    "Total number of SQL transactions pooled."),
		BOTH("server_in_transaction_seconds",
		    IS_TIME | PLACE(xact_time),
		    "Total seconds spent in transactions."),
		TOTALS("client_parses", PLACE(client_parse_count),
		    "Total number of prepared statements of clients."),
		TOTALS("server_parses", PLACE(server_parse_count),
		    "Total number of prepared statements on servers."),
		TOTALS("binds", PLACE(bind_count),
		    "Total number of prepared statements bound."),
		TOTALS("server_assignments", PLACE(server_assignment_count),
		    "Total number of servers lent to clients."),
	};

	return FAMILY_GROUP(families, true);
}

/*
 * A summary's quantiles are of the last stats_period, as those of Prometheus'
 * own libraries are of the last minutes; its count is since the start.
 */

static const char *const quantiles[HISTOGRAM_RANKS] = {
	"0.5", "0.9", "0.95", "0.99", "0.999" };

enum { QUANTILES, GREATEST };

/* labels has room for one more. */
static void put_quantiles(struct metrics *m, struct label *labels, size_t n,
    const struct histogram *h)
{
	const struct histogram_summary *const last = &h->last;
	struct histogram_summary all;

	for (size_t i = 0; i < HISTOGRAM_RANKS; i++) {
		labels[n] = (struct label){ "quantile", quantiles[i] };
		exposition_put(&m->x, &(struct sample){
			.labels = labels, .label_count = n + 1,
			.value = (int64_t)last->at[i], .micro = true,
			.none = last->count == 0,
		});
	}
	histogram_summarize(h, &all);
	exposition_put(&m->x, &(struct sample){
		.labels = labels, .label_count = n, .suffix = "_count",
		.value = (int64_t)all.count });
}

static void put_greatest(struct metrics *m, const struct label *labels,
    size_t n, const struct histogram *h)
{
	exposition_put(&m->x, &(struct sample){
		.labels = labels, .label_count = n,
		.value = (int64_t)h->last.max, .micro = true });
}

static bool is_empty(const struct histogram *h)
{
	return h->count_all + h->count_now == 0;
}

static void metrics_latencies_put_pool(struct metrics *m, const struct family *f,
    const void *item)
{
	/* counts that the hot path left out are to be added */
	struct pool *const p = (struct pool *)(uintptr_t)item;

	latencies_settle(p);
	for (int i = 0; p->latencies != NULL && i < LATENCIES; i++) {
		const struct histogram *const h = &p->latencies->of[i];
		struct label labels[4] = { METRICS_POOL_LABELS(p),
			{ "latency", latency_name((enum latency)i) } };

		if (is_empty(h))
			continue;
		if (f->what == QUANTILES)
			put_quantiles(m, labels, 3, h);
		else
			put_greatest(m, labels, 3, h);
	}
}

/* Add the pool's latencies of this period to the sum. */
static void add_pool(struct metrics *m, const struct family *f,
    const void *item)
{
	struct pool *const p = (struct pool *)(uintptr_t)item;

	(void)f;
	latencies_settle(p);
	for (int i = 0; p->latencies != NULL && i < LATENCIES; i++)
		histogram_add_now(&m->sums[i], &p->latencies->of[i]);
}

/* What was before this period. */
static void add_past(struct histogram *sum, const struct histogram *h)
{
	histogram_add(sum, h);
	histogram_summary_add(&sum->last, &h->last);
}

static void put_sums(struct metrics *m, const struct family *f)
{
	(void)f;
	for (int i = 0; i < LATENCIES; i++) {
		struct histogram *const h = &m->sums[i];
		struct label labels[2] = {
			{ "latency", latency_name((enum latency)i) } };

		for (const struct admin *a = m->first; a != NULL; a = a->next)
			add_past(h, &a->ss->catalog->averages.latencies.of[i]);
		if (!is_empty(h))
			put_quantiles(m, labels, 1, h);
	}
}

struct family_group metrics_latencies(void)
{
	static const struct family families[] = {
		{ { "pgsluice_latency_seconds", METRIC_SUMMARY, "seconds",
		    "Durations in all pools, in the last period." },
		    OVER_POOLS, QUANTILES, add_pool, put_sums },
		{ { "pgsluice_pool_latency_seconds", METRIC_SUMMARY, "seconds",
		    "Durations in a pool, in the last period." },
		    OVER_POOLS, QUANTILES, metrics_latencies_put_pool, NULL },
		{ { "pgsluice_pool_latency_max_seconds", METRIC_GAUGE,
		    "seconds", "The longest of them." },
		    OVER_POOLS, GREATEST, metrics_latencies_put_pool, NULL },
	};

	return FAMILY_GROUP(families, false);
}
