/* metrics_process.c - metrics of the process and its workers: SHOW LISTS,
 * STATE, MEM, CONFIG, COUNTERS, WORKERS.
 * SPDX-License-Identifier: ISC */
#include "base/ceiling.h"
#include "base/mem.h"
#include "base/text.h"
#include "console/judgement.h"
#include "console/view_merge.h"
#include "http/metrics_parts.h"
#include "login/peer.h"
#include "pool/hosts.h"
#include "pool/tally.h"
#include "pool/users.h"
#include "upstream/tls_setup.h"

enum value {
	DATABASES, POOLS, PEERS, PEER_POOLS, CLIENTS, LOGINS, SERVERS,
	DNS_NAMES, DNS_ZONES, DNS_QUERIES, NONE, PAUSED, SUSPENDED, ENDING,
	DRAINED, DRAINING, DRAIN_CLIENTS, DRAIN_SECONDS, ONE,
	MAX_CLIENTS, MAX_USER, MEMORY_USED, MEMORY_LIMIT, VALUES
};

static int64_t count_peers(const struct config *config)
{
	const struct config_peer *p = config->peers;
	int64_t n = 0;

	for (; p != NULL; p = p->next)
		n++;
	return n;
}

static int64_t count_drained(const struct catalog *c)
{
	int64_t n = 0;

	for (const struct drain *d = c->drained; d != NULL; d = d->next)
		n++;
	return n;
}

static void put_value(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct sessions *const ss = m->ss;
	const struct catalog *const c = ss->catalog;
	const struct departure *const d = &ss->departure;
	const struct sums sums = sums_of(m->first);

	(void)item;
	const int64_t values[VALUES] = {
		[DATABASES] = sums.databases,
		[POOLS] = sums.pools,
		[PEERS] = count_peers(c->config),
		[PEER_POOLS] = HASH_COUNT(ss->peers),
		[CLIENTS] = sums.clients,
		[LOGINS] = sums.logins,
		[SERVERS] = sums.servers,
		[DNS_NAMES] = (int64_t)sums.dns.names,
		[DNS_ZONES] = (int64_t)sums.dns.zones,
		[DNS_QUERIES] = (int64_t)sums.dns.queries,
		[PAUSED] = c->paused && !ss->suspended,
		[SUSPENDED] = ss->suspended,
		[ENDING] = ss->shutdown != SHUTDOWN_NONE,
		[DRAINED] = count_drained(c),
		[DRAINING] = departure_is_on(d),
		[DRAIN_CLIENTS] = d->left,
		[DRAIN_SECONDS] = departure_seconds(d, time_now()),
		[ONE] = 1,
		[MAX_CLIENTS] = sessions_settings(ss)->max_client_conn,
		[MEMORY_USED] = (int64_t)ceiling_used(),
		[MEMORY_LIMIT] = (int64_t)ceiling_limit(),
		[MAX_USER] = sessions_settings(ss)->max_user_connections,
	};

	metrics_put(m, NULL, 0, values[f->what]);
}

/* Bit by bit: there may be as many as there are pools. */
static void add_user(struct metrics *m, const struct family *f,
    const void *item)
{
	(void)f;
	m->strangers += !user_is_configured(m->ss->catalog, item) &&
	    !metrics_is_told(m, item);
}

static void metrics_process_put_users(struct metrics *m, const struct family *f)
{
	(void)f;
	metrics_put(m, NULL, 0, (int64_t)(m->strangers +
	    users_configured(m->ss->catalog)));
	m->strangers = 0;
}

static void put_version(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct label labels[] = { { "version", m->version } };

	(void)f;
	(void)item;
	metrics_put(m, labels, 1, 1);
}

enum { MEMORY_BYTES, MEMORY_OBJECTS };

static void put_memory(struct metrics *m, const struct family *f,
    const void *item)
{
	(void)item;
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		const struct mem_stat st = sums_of_memory(m->first,
		    (enum mem_kind)kind);
		const struct label labels[] = { { "kind", mem_name(kind) } };

		metrics_put(m, labels, 1, (int64_t)(f->what == MEMORY_BYTES ?
		    st.bytes : st.used));
	}
}

/* A setting that is a number; false: another setting. */
static bool read_setting(const struct option_row *o, const struct settings *set,
    struct sample *s)
{
	const void *const at = (const char *)set + o->offset;

	switch (o->type) {
	case OPT_T_INT:
	case OPT_T_BOOL:
		s->value = *(const opt_int_t *)at;
		return true;
	case OPT_T_BYTES:
		s->value = *(const opt_bytes_t *)at;
		return true;
	case OPT_T_TIME:
		s->value = *(const opt_time_t *)at;
		s->micro = true;
		return true;
	case OPT_T_ENUM:
	case OPT_T_STR:
		break;
	}
	return false;
}

static void put_certificates(struct metrics *m, const struct family *f,
    const void *item)
{
	int64_t left;

	(void)f;
	(void)item;
	for (int i = 0; i < TLS_CERTS; i++) {
		const enum tls_certificate which = (enum tls_certificate)i;
		const struct label labels[] = { { "setting",
			tls_certificate_setting(which) } };

		if (m->ss->tls != NULL &&
		    tls_setup_seconds_left(m->ss->tls, which, &left))
			metrics_put(m, labels, 1, left);
	}
}

static void put_settings(struct metrics *m, const struct family *f,
    const void *item)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	(void)f;
	(void)item;
	for (size_t i = 0; i < count; i++) {
		const struct label labels[] = { { "name", rows[i].name } };
		struct sample s = { .labels = labels, .label_count = 1 };

		if (read_setting(&rows[i], sessions_settings(m->ss), &s))
			exposition_put(&m->x, &s);
	}
}

/* The states of SHOW PEER_POOLS. */
static const struct {
	const char *state;
	bool is_server;
	uint8_t index;
} peer_states[] = {
	{ "active_cancel_req", false, CLIENT_CANCEL_SENT },
	{ "waiting_cancel_req", false, CLIENT_CANCEL_WAITING },
	{ "active_cancel", true, SERVER_ACTIVE_CANCEL },
	{ "login", true, SERVER_LOGIN },
};

static void put_peer(struct metrics *m, const struct peer *p, bool servers)
{
	char id[16];
	struct text t;

	text_init(&t, id, sizeof id);
	text_addf(&t, "%d", p->id);
	for (size_t i = 0; i < sizeof peer_states / sizeof peer_states[0];
	    i++) {
		const unsigned *const counts = servers ?
		    p->pool.server_count : p->pool.client_count;
		const struct label labels[] = { { "peer_id", id },
			{ "state", peer_states[i].state } };

		if (peer_states[i].is_server == servers)
			metrics_put(m, labels, 2,
			    counts[peer_states[i].index]);
	}
}

static void put_peers(struct metrics *m, const struct family *f,
    const void *item)
{
	struct text *const t = m->x.t;

	(void)item;
	for (const struct peer *p = m->ss->peers; p != NULL; p = p->hh.next) {
		if (t->size - t->len < 4 * EXPOSITION_SAMPLE_BYTES)
			return;
		put_peer(m, p, f->what != 0);
	}
}

#define GAUGE(name, value, help) \
	{ { name, METRIC_GAUGE, NULL, help }, OVER_PROCESS, value, put_value, \
	    NULL }
#define USERS(name, help) \
	{ { name, METRIC_GAUGE, NULL, help }, OVER_USERS, 0, add_user, \
		metrics_process_put_users }

/* One of the three is 1. */
static void put_health(struct metrics *m, const struct family *f,
    const void *item)
{
	const enum judgement word = judge(m->first, NULL, NULL, NULL);

	(void)f;
	(void)item;
	for (int i = 0; i < JUDGEMENTS; i++) {
		const struct label labels[] = {
			{ "state", judgement_name((enum judgement)i) } };

		metrics_put(m, labels, 1, (int)word == i);
	}
}

#define MEASURE(name, unit, what, help) \
	{ { name, METRIC_GAUGE, unit, help }, OVER_PROCESS, what, put_value, \
	    NULL }
#define KINDS(name, unit, is, help) \
	{ { name, METRIC_GAUGE, unit, help }, .what = is, .put = put_memory }
#define CERTIFICATES(name) \
	{ { name, METRIC_GAUGE, "seconds", "Time until a certificate expires; " \
	    "of several, the first." }, .put = put_certificates }

struct family_group metrics_process(void)
{
	static const struct family families[] = {
		{ { "pgsluice_build", METRIC_INFO, NULL,
		    "Version of the program." }, .put = put_version },
		GAUGE("pgsluice_clients", CLIENTS,
		    "Client connections, including those that are logging in."),
		GAUGE("pgsluice_clients_logging_in", LOGINS,
		    "Client connections that have not logged in yet."),
		GAUGE("pgsluice_servers", SERVERS,
		    "Server connections of any state."),
		GAUGE("pgsluice_databases", DATABASES, "Databases."),
		USERS("pgsluice_users", "Users that are known."),
		GAUGE("pgsluice_pools", POOLS, "Pools."),
		GAUGE("pgsluice_peers", PEERS, "Peers that are configured."),
		GAUGE("pgsluice_peer_pools", PEER_POOLS,
		    "Peers that cancel requests were passed on to."),
		GAUGE("pgsluice_dns_names", DNS_NAMES,
		    "Host names that are kept."),
		GAUGE("pgsluice_dns_zones", DNS_ZONES,
		    "Zones that these belong to."),
		GAUGE("pgsluice_dns_queries", DNS_QUERIES,
		    "Lookups of host names under way."),
		{ { "pgsluice_health", METRIC_GAUGE, NULL,
		    "1: this is the state; SHOW HEALTH and /readyz say why." },
		    .put = put_health },
		GAUGE("pgsluice_paused", PAUSED, "1: PAUSE was given."),
		GAUGE("pgsluice_suspended", SUSPENDED, "1: SUSPEND was given."),
		GAUGE("pgsluice_shutting_down", ENDING,
		    "1: waits until clients or servers have left, then ends."),
		GAUGE("pgsluice_draining", DRAINING,
		    "1: SHUTDOWN DRAIN, or SIGTERM with a time for it."),
		GAUGE("pgsluice_drain_clients_left", DRAIN_CLIENTS,
		    "Clients that must still leave before a drain is over."),
		MEASURE("pgsluice_drain_left_seconds", "seconds", DRAIN_SECONDS,
		    "Time until a drain closes the remaining clients."),
		CERTIFICATES("pgsluice_certificate_left_seconds"),
		GAUGE("pgsluice_drained_hosts", DRAINED,
		    "Hosts that DRAIN HOST was given for."),
		MEASURE("pgsluice_memory_used_bytes", "bytes", MEMORY_USED,
		    "Memory of the process, as memory_limit counts it."),
		MEASURE("pgsluice_memory_limit_bytes", "bytes", MEMORY_LIMIT,
		    "memory_limit in bytes; 0: none."),
		KINDS("pgsluice_memory_bytes", "bytes", MEMORY_BYTES,
		    "Memory of counted objects, as SHOW MEM."),
		KINDS("pgsluice_memory_objects", NULL, MEMORY_OBJECTS,
		    "Counted objects alive, as SHOW MEM."),
		{ { "pgsluice_setting", METRIC_GAUGE, NULL,
		    "Settings that are numbers; times in seconds." },
		    .put = put_settings },
		{ { "pgsluice_peer_pool_clients", METRIC_GAUGE, NULL,
		    "Cancel requests for peers, by state." },
		    .what = false, .put = put_peers },
		{ { "pgsluice_peer_pool_servers", METRIC_GAUGE, NULL,
		    "Connections to peers, by state." },
		    .what = true, .put = put_peers },
	};

	return FAMILY_GROUP(families, false);
}

/* (spec/exporter-metrics.md) */
struct family_group metrics_process_bouncer(void)
{
	static const struct family families[] = {
		GAUGE("pgbouncer_up", ONE, "The pooler answers."),
		{ { "pgbouncer_version", METRIC_INFO, NULL,
		    "As SHOW VERSION." }, .put = put_version },
		GAUGE("pgbouncer_databases", DATABASES,
		    "Count of databases."),
		USERS("pgbouncer_users", "Count of users."),
		GAUGE("pgbouncer_pools", POOLS, "Count of pools."),
		GAUGE("pgbouncer_free_clients", NONE,
		    "Count of free clients."),
		GAUGE("pgbouncer_used_clients", CLIENTS,
		    "Count of used clients."),
		GAUGE("pgbouncer_login_clients", LOGINS,
		    "Count of clients in login state."),
		GAUGE("pgbouncer_free_servers", NONE,
		    "Count of free servers."),
		GAUGE("pgbouncer_used_servers", SERVERS,
		    "Count of used servers."),
		GAUGE("pgbouncer_cached_dns_names", DNS_NAMES,
		    "Count of DNS names in the cache."),
		GAUGE("pgbouncer_cached_dns_zones", DNS_ZONES,
		    "Count of DNS zones in the cache."),
		GAUGE("pgbouncer_in_flight_dns_queries", DNS_QUERIES,
		    "Count of DNS queries in flight."),
		GAUGE("pgbouncer_config_max_client_connections", MAX_CLIENTS,
		    "Setting max_client_conn."),
		GAUGE("pgbouncer_config_max_user_connections", MAX_USER,
		    "Setting max_user_connections."),
	};

	return FAMILY_GROUP(families, true);
}

static int metrics_process_put(void *arg, const struct tally_count *n)
{
	struct metrics *const m = arg;
	const struct label labels[] = {
		{ n->labels[0].name, n->labels[0].value },
		{ n->labels[1].name, n->labels[1].value },
	};

	/* a server that makes up codes does not make the rest be cut */
	if (m->x.t->size - m->x.t->len < EXPOSITION_SAMPLE_BYTES)
		return -1;
	metrics_put(m, labels, n->label_count, (int64_t)n->value);
	return 0;
}

static void put_table(struct metrics *m, const struct family *f,
    const void *item)
{
	struct tally sum = { .errors = { { 0 } } };

	(void)item;
	for (const struct admin *a = m->first; a != NULL; a = a->next)
		tally_add(&sum, &a->ss->tally);
	(void)tally_each(&sum, (enum tally_table)f->what, metrics_process_put,
	    m);
}

struct family_group metrics_counters(void)
{
	static const struct family families[] = {
#define TALLY(n, r, c, rk, ck, a, h) \
		{ { "pgsluice_" #n, METRIC_COUNTER, NULL, h }, \
		    .what = TALLY_TABLE_##n, .put = put_table },
#include "pool/tally.def"
#undef TALLY
	};

	return FAMILY_GROUP(families, false);
}

enum { WORKER_CLIENTS, WORKER_SERVERS, IN, OUT, CLIENTS_IN, CLIENTS_OUT, SLOW,
	LOAD, TURN, HANDOVERS, WORKER_VALUES };

/* In millionths, where there are any. */
static void put_worker(struct metrics *m, const struct admin *a, unsigned what)
{
	const struct sessions *const ss = a->ss;
	const int64_t values[WORKER_VALUES] = {
		[WORKER_CLIENTS] = ss->catalog->clients,
		[WORKER_SERVERS] = ss->servers,
		[IN] = (int64_t)ss->servers_in,
		[OUT] = (int64_t)ss->servers_out,
		[CLIENTS_IN] = (int64_t)ss->clients_in,
		[CLIENTS_OUT] = (int64_t)ss->clients_out,
		[SLOW] = (int64_t)a->slow.count,
		[LOAD] = a->load.percent * 10000,
		[TURN] = a->load.longest,
		[HANDOVERS] = a->load.handovers,
	};
	const bool measured = what >= LOAD;
	char number[16];
	struct text t;

	text_init(&t, number, sizeof number);
	text_addf(&t, "%u", ss->worker);
	exposition_put(&m->x, &(struct sample){
		.labels = (const struct label[]){ { "worker", number } },
		.label_count = 1, .value = values[what], .micro = measured,
		.none = measured && !a->load.known,
	});
}

static void put_workers(struct metrics *m, const struct family *f,
    const void *item)
{
	(void)item;
	for (const struct admin *a = m->first; a != NULL; a = a->next)
		put_worker(m, a, f->what);
}

#define FAMILY(name, type, value, unit, help) \
	{ { "pgsluice_worker_" name, type, unit, help }, \
	    OVER_PROCESS, value, put_workers, NULL }
#define WORKER(name, value, unit, help) \
	FAMILY(name, METRIC_GAUGE, value, unit, help)

struct family_group metrics_workers(void)
{
	static const struct family families[] = {
		WORKER("clients", WORKER_CLIENTS, NULL, "Client connections."),
		WORKER("servers", WORKER_SERVERS, NULL, "Server connections."),
		FAMILY("servers_in", METRIC_COUNTER, IN, NULL,
		    "Server connections that other workers have handed over."),
		FAMILY("servers_out", METRIC_COUNTER, OUT, NULL,
		    "Server connections handed over to other workers."),
		FAMILY("clients_in", METRIC_COUNTER, CLIENTS_IN, NULL,
		    "Clients that have moved here from other workers."),
		FAMILY("clients_out", METRIC_COUNTER, CLIENTS_OUT, NULL,
		    "Clients that have moved to other workers."),
		FAMILY("slow_turns", METRIC_COUNTER, SLOW, NULL,
		    "Turns of the loop that lasted longer than slow_turn."),
		WORKER("load_ratio", LOAD, "ratio",
		    "Share of a core that the worker has used in the last "
		    "period."),
		WORKER("longest_turn_seconds", TURN, "seconds",
		    "The longest turn of the loop in the last period."),
		WORKER("handover_ratio", HANDOVERS, "ratio",
		    "Share of the servers that clients were given in the last "
		    "period that came from other workers."),
	};

	return FAMILY_GROUP(families, false);
}
