/* test_table.c - bytes of descriptions and rows, and what each view shows.
 * SPDX-License-Identifier: ISC */
#include "console/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/text.h"
#include "conf/config.h"
#include "console/admin.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/server.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct column all_types[] = {
	{ "t", COL_TEXT, SHAPE_PLAIN }, { "i4", COL_INT4, SHAPE_PLAIN },
	{ "i8", COL_INT8, SHAPE_PLAIN }, { "n", COL_NUMERIC, SHAPE_PLAIN },
	{ "by", COL_BYTEA, SHAPE_PLAIN }, { "ts", COL_TIME, SHAPE_PLAIN },
};

static const struct shape all_types_shape = { .columns = all_types,
	.count = COUNT(all_types) };

static void assert_written(struct writer *w, const void *want, size_t len)
{
	assert_false(w->failed);
	assert_int_equal(w->len, len);
	assert_memory_equal(w->at, want, len);
	writer_fini(w);
}

static void test_description_tells_types(void **state)
{
#define FIELD(name, oid, len) name "\0" "\0\0\0\0" "\0\0" oid len \
	"\377\377\377\377" "\0\0"
	static const char want[] = "T" "\0\0\0\202" "\0\6"
	    FIELD("t", "\0\0\0\31", "\377\377")
	    FIELD("i4", "\0\0\0\27", "\0\4")
	    FIELD("i8", "\0\0\0\24", "\0\10")
	    FIELD("n", "\0\0\6\244", "\377\377")
	    FIELD("by", "\0\0\0\21", "\377\377")
	    FIELD("ts", "\0\0\0\31", "\377\377");
	struct writer w;

	(void)state;
	writer_init(&w, 4096);
	table_write_description(&w, &all_types_shape);
	assert_written(&w, want, sizeof want - 1);
}

static void test_row_tells_nulls_and_numbers_as_text(void **state)
{
	static const char want[] = "D" "\0\0\0\50" "\0\6"
	    "\0\0\0\2" "ab"
	    "\377\377\377\377"
	    "\0\0\0\2" "-7"
	    "\0\0\0\2" "42"
	    "\0\0\0\0"
	    "\0\0\0\4" "\\x00";
	const struct cell cells[] = {
		cell_text("ab"), cell_text(NULL), cell_number(-7),
		cell_number(42), cell_text(""), cell_text("\\x00"),
	};
	struct writer w;

	(void)state;
	writer_init(&w, 4096);
	table_write_row(&w, &all_types_shape, cells);
	assert_written(&w, want, sizeof want - 1);
}

static void test_int4_is_held_to_its_range(void **state)
{
	static const struct column columns[] = { { "a", COL_INT4, SHAPE_PLAIN },
		{ "b", COL_INT4, SHAPE_PLAIN }, { "c", COL_INT8, SHAPE_PLAIN },
		{ "d", COL_NUMERIC, SHAPE_PLAIN } };
	static const struct shape v = { .columns = columns, .count = 4 };
	static const char want[] = "D" "\0\0\0\111" "\0\4"
	    "\0\0\0\12" "2147483647"
	    "\0\0\0\13" "-2147483648"
	    "\0\0\0\12" "4294967296"
	    "\0\0\0\24" "18446744073709551615";
	const struct cell cells[] = {
		cell_number((int64_t)1 << 32), cell_number(INT64_MIN),
		cell_number((int64_t)1 << 32), cell_number(-1),
	};
	struct writer w;

	(void)state;
	writer_init(&w, 4096);
	table_write_row(&w, &v, cells);
	assert_written(&w, want, sizeof want - 1);
}

static void test_time_is_text_in_the_local_zone(void **state)
{
	static const struct column columns[] = { { "a", COL_TIME, SHAPE_PLAIN } };
	static const struct shape v = { .columns = columns, .count = 1 };
	static const char want[] = "D" "\0\0\0\41" "\0\1"
	    "\0\0\0\27" "1970-01-02 10:17:36 UTC";
	const struct cell cells[] = { cell_number(123456 * USEC) };
	struct writer w;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	time_set_fake(0);
	writer_init(&w, 4096);
	table_write_row(&w, &v, cells);
	time_set_fake(-1);
	assert_written(&w, want, sizeof want - 1);
}

/* As in the specification: names with their type letters. */
static const struct {
	const char *topic, *columns;
} specified[] = {
	{ "DATABASES", "name t, host t, port i4, database t, force_user t, "
	    "pool_size i4, min_pool_size i4, reserve_pool_size i4, "
	    "server_lifetime i4, pool_mode t, load_balance_hosts t, "
	    "max_connections i4, current_connections i4, "
	    "max_client_connections i4, current_client_connections i4, "
	    "paused i4, disabled i4, target_session_attrs t" },
	{ "USERS", "name t, pool_size t, reserve_pool_size t, pool_mode t, "
	    "max_user_connections i4, current_connections i4, "
	    "max_user_client_connections i4, current_client_connections i4" },
	{ "PEERS", "peer_id i4, host t, port i4, pool_size i4" },
	{ "POOLS", "database t, user t, cl_active i4, cl_waiting i4, "
	    "cl_active_cancel_req i4, cl_waiting_cancel_req i4, "
	    "sv_active i4, sv_active_cancel i4, sv_being_canceled i4, "
	    "sv_idle i4, sv_used i4, sv_tested i4, sv_login i4, maxwait i4, "
	    "maxwait_us i4, pool_mode t, load_balance_hosts t, "
	    "wait_reason t, wait_us i8, pool_size i4, reserve_pool_size i4, "
	    "pinned i4, max_pinned i4" },
	{ "WAITS", "database t, user t, wait_reason t, setting t, clients i4, "
	    "wait_us i8, total_wait_us i8, detail t" },
	{ "PEER_POOLS", "peer_id i4, cl_active_cancel_req i4, "
	    "cl_waiting_cancel_req i4, sv_active_cancel i4, sv_login i4" },
#define SESSION "type t, user t, database t, replication t, state t, " \
	"addr t, port i4, local_addr t, local_port i4, connect_time ts, " \
	"request_time ts, wait i4, wait_us i4, close_needed i4, ptr t, " \
	"link t, remote_pid i4, tls t, application_name t, " \
	"prepared_statements i4, id i4"
#define ADDED ", tls_peer t"
#define PINS ", pinned i4, pin_reason t"
#define SOCKET SESSION ", recv_pos i4, pkt_pos i4, pkt_remain i4, " \
	"send_pos i4, send_remain i4, pkt_avail i4, send_avail i4" ADDED
	{ "FDS", "fd i4, task t, user t, database t, addr t, port i4, "
	    "cancel i8, link i4, client_encoding t, std_strings t, "
	    "datestyle t, timezone t, password t, scram_client_key by, "
	    "scram_server_key by, state by" },
	{ "CLIENTS", SESSION ADDED PINS ", wait_reason t, waited_us i8, "
	    "channels i4, transaction_us i8, server_pid i4" },
	{ "SERVERS", SESSION ADDED PINS ", role t, transaction_us i8, "
	    "client_id i4, client t" },
	{ "SOCKETS", SOCKET },
	{ "ACTIVE_SOCKETS", SOCKET },
	{ "DNS_HOSTS", "hostname t, ttl i8, addrs t" },
	{ "DNS_ZONES", "zonename t, serial i8, count i4" },
	{ "CONFIG", "key t, value t, default t, changeable t, source t" },
	{ "VERSION", "version t" },
	{ "STATE", "key t, value t" },
	{ "HEALTH", "state t, reason t, database t, user t, seconds i8, "
	    "detail t" },
	{ "LISTS", "list t, items i4" },
	{ "MEM", "name t, size i4, used i4, free i4, memtotal i4" },
	{ "STATS", "database t, total_server_assignment_count n, "
	    "total_xact_count n, total_query_count n, total_received n, "
	    "total_sent n, total_xact_time n, total_query_time n, "
	    "total_wait_time n, total_client_parse_count n, "
	    "total_server_parse_count n, total_bind_count n, "
	    "total_client_login_count n, avg_server_assignment_count n, "
	    "avg_xact_count n, avg_query_count n, avg_recv n, avg_sent n, "
	    "avg_xact_time n, avg_query_time n, avg_wait_time n, "
	    "avg_client_parse_count n, avg_server_parse_count n, "
	    "avg_bind_count n, avg_client_login_count n" },
	{ "STATS_TOTALS", "database t, server_assignment_count n, "
	    "xact_count n, query_count n, bytes_received n, bytes_sent n, "
	    "xact_time n, query_time n, wait_time n, client_parse_count n, "
	    "server_parse_count n, bind_count n, client_login_count n" },
	{ "STATS_AVERAGES", "database t, server_assignment_count n, "
	    "xact_count n, query_count n, bytes_received n, bytes_sent n, "
	    "xact_time n, query_time n, wait_time n, "
	    "avg_client_parse_count n, avg_server_parse_count n, "
	    "avg_bind_count n, avg_client_login_count n" },
	{ "TOTALS", "name t, value n" },
#define RANKS(of) of "count i8, " of "p50_us i8, " of "p90_us i8, " \
	of "p95_us i8, " of "p99_us i8, " of "p999_us i8, " of "max_us i8"
	{ "LATENCIES", "database t, user t, latency t, " RANKS("") ", "
	    RANKS("total_") },
	{ "COUNTERS", "name t, label t, value i8" },
	{ "WORKERS", "worker i4, databases i4, pools i4, clients i4, "
	    "login_clients i4, servers i4, "
	    "load_percent i4, longest_turn_us i8, "
	    "servers_in i8, servers_out i8, "
	    "clients_in i8, clients_out i8, handover_permille i4" },
};

static void test_columns_are_those_of_the_specification(void **state)
{
	static const char *const letters[] = {
		[COL_TEXT] = "t", [COL_INT4] = "i4", [COL_INT8] = "i8",
		[COL_NUMERIC] = "n", [COL_BYTEA] = "by", [COL_TIME] = "ts",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(specified); i++) {
		const struct view *const v = view_find(specified[i].topic);
		char buf[2048];
		struct text t;

		assert_non_null(v);
		text_init(&t, buf, sizeof buf);
		for (size_t k = 0; k < v->column_count; k++)
			text_addf(&t, "%s%s %s", k > 0 ? ", " : "",
			    v->columns[k].name, letters[v->columns[k].type]);
		assert_string_equal(buf, specified[i].columns);
	}
	assert_null(view_at(COUNT(specified)));
}

static void test_topics_are_found_without_case(void **state)
{
	(void)state;
	assert_ptr_equal(view_find("pools"), view_find("POOLS"));
	assert_null(view_find("POOL"));
	assert_null(view_find(""));
}

/* Rows as lines of text: NULL as \N, cells apart by '|'. */
struct lines {
	struct row_sink sink;
	const struct view *view;
	struct text text;
	char buf[16384];
	int rows, stop_after;
};

static int add_line(struct row_sink *sink, const struct cell *cells)
{
	struct lines *const l = (struct lines *)sink;

	for (size_t i = 0; i < l->view->column_count; i++) {
		const struct cell *const c = &cells[i];

		text_add(&l->text, i > 0 ? "|" : "");
		if (c->kind == CELL_NUMBER)
			text_addf(&l->text, "%lld", (long long)c->number);
		else
			text_add(&l->text, c->kind == CELL_NULL ? "\\N" :
			    c->text);
	}
	text_add(&l->text, "\n");
	return ++l->rows == l->stop_after;
}

static struct lines shown;

/* What views look at. */
struct stage {
	struct config *config;
	struct catalog *catalog;
	struct sessions ss;
	struct admin admin;
};

static const char *show(struct stage *st, const char *topic, int stop_after)
{
	shown = (struct lines){ .sink = { add_line },
		.view = view_find(topic), .stop_after = stop_after };
	text_init(&shown.text, shown.buf, sizeof shown.buf);
	shown.view->rows(&st->admin, shown.view, &shown.sink);
	return shown.buf;
}

static int no_listener(void *app, admin_listener_fn fn, void *arg)
{
	(void)app;
	(void)fn;
	(void)arg;
	return 0;
}

/* A stage with the console's pool and nothing else. */
static int make_stage(void **state)
{
	static const struct admin_ops ops = { .each_listener = no_listener };
	static struct stage st;

	time_set_fake(100 * USEC);
	st = (struct stage){ .config = config_seed(0) };
	assert_non_null(st.config);
	st.catalog = catalog_new(st.config);
	st.ss.params = params_table_new(NULL);
	assert_non_null(st.catalog);
	assert_non_null(st.ss.params);
	st.ss.catalog = st.catalog;
	st.admin = (struct admin){ .ops = &ops, .ss = &st.ss };
	st.catalog->averages.since_before = 99 * USEC;
	*state = &st;
	return 0;
}

static int free_stage(void **state)
{
	struct stage *const st = *state;

	params_table_free(&st->ss.params);
	catalog_free(&st->catalog);
	config_unref(&st->config);
	time_set_fake(-1);
	return 0;
}

static void test_databases_shows_the_console(void **state)
{
	struct stage *const st = *state;

	assert_string_equal(show(st, "DATABASES", 0),
	    "pgbouncer|\\N|6432|pgbouncer|pgbouncer|2|0|0|3600|statement|\\N|"
	    "0|0|0|0|0|0|any\n");
}

static void test_users_and_pools_are_in_byte_order(void **state)
{
	struct stage *const st = *state;
	struct user *const zoe = catalog_get_user(st->catalog, "zoe");
	struct user *const amy = catalog_get_user(st->catalog, "Amy");

	amy->servers = 2;
	zoe->clients = 3;
	assert_string_equal(show(st, "USERS", 0),
	    "Amy|||\\N|0|2|0|0\n"
	    "pgbouncer|||\\N|0|0|0|0\n"
	    "zoe|||\\N|0|0|0|3\n");
	amy->servers = 0;
	zoe->clients = 0;

	catalog_get_pool(st->catalog, st->catalog->console, zoe);
	struct pool *const p = catalog_get_pool(st->catalog,
	    st->catalog->console, amy);
	p->client_count[CLIENT_WAITING] = 2;
	p->client_count[CLIENT_WELCOME] = 1;
	p->server_count[SERVER_USED] = 4;
	show(st, "POOLS", 0);
	p->client_count[CLIENT_WAITING] = p->client_count[CLIENT_WELCOME] = 0;
	p->server_count[SERVER_USED] = 0;
	assert_string_equal(shown.buf,
	    "pgbouncer|Amy|0|3|0|0|0|0|0|0|4|0|0|0|0|statement|\\N|"
	    "pool_size|0|2|0|0|-1\n"
	    "pgbouncer|pgbouncer|0|0|0|0|0|0|0|0|0|0|0|0|0|statement|\\N|\\N|0|2|0|0|-1\n"
	    "pgbouncer|zoe|0|0|0|0|0|0|0|0|0|0|0|0|0|statement|\\N|\\N|0|2|0|0|-1\n");
}

static void test_maxwait_is_that_of_the_first_in_the_queue(void **state)
{
	struct stage *const st = *state;
	struct pool *const p = st->catalog->pools;
	struct pool_client first = { .pool = p, .wait_since = 97 * USEC + 5 },
	    second = { .pool = p, .wait_since = 99 * USEC };

	pool_client_set(&first, CLIENT_WAITING);
	pool_client_set(&second, CLIENT_WAITING);
	show(st, "POOLS", 0);
	pool_client_set(&first, CLIENT_LOGIN);
	pool_client_set(&second, CLIENT_LOGIN);
	assert_string_equal(shown.buf, "pgbouncer|pgbouncer|0|2|0|0|0|0|0|0|"
	    "0|0|0|2|999995|statement|\\N|server_login|2999995|2|0|0|-1\n");
}

static void test_stats_sum_the_pools_of_a_database(void **state)
{
	struct stage *const st = *state;
	struct pool *const a = st->catalog->pools;
	struct pool *const b = catalog_get_pool(st->catalog,
	    st->catalog->console, catalog_get_user(st->catalog, "amy"));

	st->catalog->averages.since_before = 96 * USEC;	/* 4 s ago */
	a->counted.now.xact_count = 30;
	b->counted.now.xact_count = 18;
	b->counted.before.xact_count = 8;
	a->counted.now.xact_time = 4001;
	a->counted.now.received = 8;
	assert_string_equal(show(st, "STATS", 0),
	    "pgbouncer|0|48|0|8|0|4001|0|0|0|0|0|0|"
	    "0|10|0|2|0|100|0|0|0|0|0|0\n");
	assert_string_equal(show(st, "STATS_TOTALS", 0),
	    "pgbouncer|0|48|0|8|0|4001|0|0|0|0|0|0\n");
	assert_string_equal(show(st, "STATS_AVERAGES", 0),
	    "pgbouncer|0|10|0|2|0|100|0|0|0|0|0|0\n");
	assert_string_equal(show(st, "TOTALS", 0),
	    "total_server_assignment_count|0\ntotal_xact_count|48\n"
	    "total_query_count|0\ntotal_client_bytes|8\n"
	    "total_server_bytes|0\ntotal_xact_time|4001\n"
	    "total_query_time|0\ntotal_wait_time|0\n"
	    "total_ps_client_parse_count|0\ntotal_ps_server_parse_count|0\n"
	    "total_ps_bind_count|0\n"
	    "avg_server_assignment_count|0\navg_xact_count|10\n"
	    "avg_query_count|0\navg_client_bytes|2\navg_server_bytes|0\n"
	    "avg_xact_time|100\navg_query_time|0\navg_wait_time|0\n"
	    "avg_ps_client_parse_count|0\navg_ps_server_parse_count|0\n"
	    "avg_ps_bind_count|0\n");
}

/* A client and its server, both on Unix sockets, 3 s into a query. */
static void join(struct stage *st, struct client *c, struct server *s)
{
	struct pool *const p = st->catalog->pools;

	*c = (struct client){ .user = p->key.user, .db = p->key.db, .id = 7,
		.born = 98 * USEC, .request_time = 97 * USEC,
		.query_start = 97 * USEC + 1, .xact_start = 96 * USEC,
		.replication = REPLICATION_LOGICAL,
		.params = params_empty(st->ss.params), .pc.pool = p,
		.addr = { .family = NET_UNIX, .port = 6432, .pid = 4711 } };
	assert_int_equal(params_set(&c->params, params_find(st->ss.params,
	    "application_name"), "psql"), 0);
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	*s = (struct server){ .id = (1ULL << 31) + 8, .prepared.count = 2,
		.ps = { .pool = p, .born = 96 * USEC, .used = 95 * USEC,
		    .state = SERVER_GONE, .close_needed = true },
		.key = { 0xff, 0xff, 0xff, 0xfe, 1, 2, 3, 4 }, .key_len = 8,
		.addr = { .family = NET_UNIX, .port = 5432 },
		.carry.len = 9 };
	pool_link(&c->pc, &s->ps);
}

static void part(struct client *c, struct server *s)
{
	pool_unlink(&c->pc);
	pool_client_set(&c->pc, CLIENT_LOGIN);
	pool_server_set(&s->ps, SERVER_GONE);
	params_unref(&c->params);
}

static void test_clients_and_servers_show_both_ends(void **state)
{
	struct stage *const st = *state;
	struct client c;
	struct server s;
	char want[512];

	join(st, &c, &s);
	s.standby = FACT_YES;
	snprintf(want, sizeof want, "C|pgbouncer|pgbouncer|logical|active|"
	    "unix|6432|unix|6432|98000000|97000000|2|999999|0|0x%zx|0x%zx|"
	    "4711||psql|0|7||0||\\N|0|0|4000000|-2\n", (size_t)&c, (size_t)&s);
	assert_string_equal(show(st, "CLIENTS", 0), want);
	snprintf(want, sizeof want, "S|pgbouncer|pgbouncer|logical|active|"
	    "unix|5432|unix|5432|96000000|95000000|0|0|1|0x%zx|0x%zx|"
	    "-2|||2|8||0||standby|4000000|7|unix\n", (size_t)&s, (size_t)&c);
	assert_string_equal(show(st, "SERVERS", 0), want);

	show(st, "SOCKETS", 0);
	assert_int_equal(shown.rows, 2);
	assert_non_null(strstr(shown.buf, "|cl_active|"));
	assert_non_null(strstr(shown.buf, "|sv_active|"));
	/* only the server has something in its buffer */
	show(st, "ACTIVE_SOCKETS", 0);
	assert_int_equal(shown.rows, 1);
	assert_non_null(strstr(shown.buf, "|8|9|0|0|0|0|9|0|\n"));
	part(&c, &s);
}

static void test_states_have_names_and_an_order(void **state)
{
	struct stage *const st = *state;
	struct client clients[CLIENT_STATES];
	struct pool *const p = st->catalog->pools;
	struct text t;
	char order[256];

	for (int i = CLIENT_ACTIVE; i < CLIENT_STATES; i++) {
		clients[i] = (struct client){ .pc.pool = p,
			.pc.wait_since = 99 * USEC };
		clients[i].addr.family = NET_UNIX;
		pool_client_set(&clients[i].pc, (enum client_state)i);
	}
	show(st, "CLIENTS", 0);
	for (int i = CLIENT_ACTIVE; i < CLIENT_STATES; i++)
		pool_client_set(&clients[i].pc, CLIENT_LOGIN);

	text_init(&t, order, sizeof order);
	for (const char *at = shown.buf; *at != '\0';
	    at = strchr(at, '\n') + 1) {
		const char *const name = at +
		    strlen("C|(nouser)|pgbouncer|none|");

		text_add_bytes(&t, name, strcspn(name, "|"));
		text_add(&t, " ");
	}
	assert_string_equal(order, "idle waiting waiting waiting "
	    "active_cancel_req "
	    "waiting_cancel_req ");
}

static void test_sockets_end_with_those_in_login(void **state)
{
	struct stage *const st = *state;
	struct client c = { .addr.family = NET_UNIX };

	timeout_start(&st->ss.login_list, &c.timer, 0);
	show(st, "SOCKETS", 0);
	timeout_stop(&c.timer);
	assert_int_equal(strncmp(shown.buf,
	    "C|(nouser)|(nodb)|none|cl_login|unix|", 37), 0);
}

static void test_state_and_lists_tell_what_is(void **state)
{
	struct stage *const st = *state;

	assert_string_equal(show(st, "STATE", 0),
	    "active|yes\npaused|no\nsuspended|no\n");
	st->catalog->paused = true;
	assert_string_equal(show(st, "STATE", 0),
	    "active|no\npaused|yes\nsuspended|no\n");
	st->ss.logins = 3;
	st->ss.servers = 5;
	assert_string_equal(show(st, "LISTS", 0),
	    "databases|1\nusers|1\npeers|0\npools|1\npeer_pools|0\n"
	    "free_clients|0\nused_clients|0\nlogin_clients|3\n"
	    "free_servers|0\nused_servers|5\ndns_names|0\ndns_zones|0\n"
	    "dns_queries|0\ndns_pending|0\n");
}

static void test_config_shows_every_setting(void **state)
{
	struct stage *const st = *state;
	size_t count;

	option_rows(&count);
	show(st, "CONFIG", 0);
	assert_int_equal(shown.rows, count);
	assert_non_null(strstr(shown.buf, "\nauth_user|\\N|\\N|yes|default\n"));
	assert_non_null(strstr(shown.buf,
	    "\ndefault_pool_size|20|20|yes|default\n"));
	assert_non_null(strstr(shown.buf,
	    "\nunix_socket_mode|511|0777|no|default\n"));
	assert_non_null(strstr(shown.buf, "\npool_mode|session|session|yes|default\n"));
}

static void test_version_names_the_reference(void **state)
{
	struct stage *const st = *state;

	assert_int_equal(strncmp(show(st, "VERSION", 0),
	    "PgBouncer 1.25.2 (pgsluice ", 27), 0);
}

static void test_sink_that_stops_gets_no_more_rows(void **state)
{
	struct stage *const st = *state;

	catalog_get_user(st->catalog, "amy");
	for (size_t i = 0; view_at(i) != NULL; i++) {
		show(st, view_at(i)->topic, 1);
		assert_in_range(shown.rows, 0, 1);
	}
}

#define WITH_STAGE(test) cmocka_unit_test_setup_teardown(test, make_stage, free_stage)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_description_tells_types),
		cmocka_unit_test(test_row_tells_nulls_and_numbers_as_text),
		cmocka_unit_test(test_int4_is_held_to_its_range),
		cmocka_unit_test(test_time_is_text_in_the_local_zone),
		cmocka_unit_test(test_columns_are_those_of_the_specification),
		cmocka_unit_test(test_topics_are_found_without_case),
		WITH_STAGE(test_databases_shows_the_console),
		WITH_STAGE(test_users_and_pools_are_in_byte_order),
		WITH_STAGE(test_maxwait_is_that_of_the_first_in_the_queue),
		WITH_STAGE(test_stats_sum_the_pools_of_a_database),
		WITH_STAGE(test_clients_and_servers_show_both_ends),
		WITH_STAGE(test_states_have_names_and_an_order),
		WITH_STAGE(test_sockets_end_with_those_in_login),
		WITH_STAGE(test_state_and_lists_tell_what_is),
		WITH_STAGE(test_config_shows_every_setting),
		WITH_STAGE(test_version_names_the_reference),
		WITH_STAGE(test_sink_that_stops_gets_no_more_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
