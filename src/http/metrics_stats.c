/* metrics_stats.c - the counters of SHOW STATS, by pool and by database.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "http/metrics_parts.h"

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

static void put_database(struct metrics *m, const struct family *f,
    const void *item)
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
	    OVER_DATABASES, what, put_database, NULL }
#define BOTH(name, what, help) TOTALS(name, what, help), \
	{ { "pgbouncer_stats_" name, METRIC_COUNTER, NULL, help }, \
	    OVER_DATABASES, what, put_database, NULL }

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
