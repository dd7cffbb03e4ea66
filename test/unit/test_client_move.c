/* test_client_move.c - a client that is served goes from worker to worker.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/ledger.h"
#include "base/mem.h"
#include "conf/config.h"
#include "io/loop.h"
#include "pool/catalog.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "session/client.h"
#include "session/sessions.h"
#include "transfer/client_move.h"
#include "upstream/tls_setup.h"

#define BODY "select 1\0\0\0"
#define WORKERS 2

static struct {
	struct config *config;
	struct ledger_book *book;
	struct tls_setup tls;
	struct sessions ss[WORKERS];
	atomic_uint clients, requests, consoles;
	struct client *mailed;
	unsigned to;
	bool full;
	struct client *c;
	int end;
	char heard[100];
} st;

/* --- the neighbours --- */

static void on_input(struct client *c)
{
	struct burst b;

	if (carry_again(&c->carry, &b))
		snprintf(st.heard, sizeof st.heard, "%.*s|", (int)b.len,
		    (const char *)b.at);
	carry_fini(&c->carry);
	while (stream_is_ready(&c->stream)) {
		char got[50];
		const ssize_t n = stream_read(&c->stream, got, sizeof got);

		if (n == STREAM_EOF) {
			client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
			st.c = NULL;
			return;
		}
		if (n <= 0)
			return;
		const size_t had = strlen(st.heard);

		snprintf(st.heard + had, sizeof st.heard - had, "%.*s",
		    (int)n, got);
	}
}

static const struct client_role relay = { .name = "relay",
	.input = on_input };

static bool may_move(void *app, unsigned worker)
{
	(void)app;
	(void)worker;
	return !st.full;
}

static void note_move(void *app, struct client *c, unsigned worker)
{
	(void)app;
	assert_null(st.mailed);
	st.mailed = c;
	st.to = worker;
}

/* --- the stage --- */

static struct config *make_config(void)
{
	char path[] = "/tmp/client_ini_XXXXXX";
	const int fd = mkstemp(path);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	struct err e = { .text = "" };

	assert_non_null(out);
	fprintf(out, "[databases]\nshop = host=127.0.0.1\n[pgbouncer]\n"
	    "listen_port = 6432\nauth_type = any\npool_mode = transaction\n");
	assert_int_equal(fclose(out), 0);
	struct config *const c = config_load(path, NULL, NULL, NULL, &e);

	unlink(path);
	assert_string_equal(c == NULL ? e.text : "", "");
	return c;
}

/* Both have the database, as a part of it would be. */
static void open_worker(unsigned n)
{
	struct sessions *const ss = &st.ss[n];

	ss->worker = n;
	ss->others = WORKERS - 1;
	ss->last_id = n;
	ss->loop = loop_new();
	ss->catalog = catalog_new(st.config);
	ss->catalog->part = (struct catalog_part){ n, 0, st.book,
		&st.clients, &st.requests, &st.consoles };
	ss->params = params_table_new(NULL);
	ss->prepared = prepared_table_new();
	prepared_table_divide(ss->prepared, n, WORKERS);
	ss->baggage = baggage_table_new();
	ss->tls = &st.tls;
	ss->client_ops.relay = &relay;
	ss->client_ops.may_move = may_move;
	ss->client_ops.move = note_move;
	roam_share(ss, n == 0 ? NULL : &st.ss[0]);
	timeout_list_init(&ss->idle_list, NULL, NULL);
}

static struct pool *pool_of(unsigned n)
{
	struct catalog *const cat = st.ss[n].catalog;

	return catalog_get_pool(cat, catalog_find_database(cat, "shop"),
	    catalog_get_user(cat, "ann"));
}

/* One that has logged in at the first worker. */
static struct client *come(void)
{
	const struct net_addr addr = { .family = NET_UNIX };
	struct sessions *const ss = &st.ss[0];
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0, fds), 0);
	st.end = fds[1];
	struct client *const c = client_open(ss, fds[0], &addr);

	assert_non_null(c);
	client_become(c, &relay);
	client_enter(c, catalog_find_database(ss->catalog, "shop"),
	    catalog_get_user(ss->catalog, "ann"));
	c->pc.pool = pool_of(0);
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	client_new_key(c);
	c->welcomed = true;
	return c;
}

static int set_up(void **state)
{
	(void)state;
	memset(&st, 0, sizeof st);
	st.config = make_config();
	st.book = ledger_book_new(WORKERS);
	for (unsigned i = 0; i < WORKERS; i++)
		open_worker(i);
	st.c = come();
	return 0;
}

static void on_stop(void *arg)
{
	loop_stop(arg);
}

static void do_nothing(struct loop_task *t)
{
	(void)t;
}

static void turns(unsigned n)
{
	struct loop_task nudge = { .run = do_nothing };

	for (int i = 0; i < 3; i++) {
		loop_again(st.ss[n].loop, &nudge);
		loop_run(st.ss[n].loop, on_stop, st.ss[n].loop);
	}
}

static void close_worker(unsigned n)
{
	struct sessions *const ss = &st.ss[n];

	loop_finish(ss->loop);
	assert_null(ss->by_key);
	assert_null(ss->all_clients.first);
	assert_int_equal(ss->catalog->clients, 0);
	assert_int_equal(prepared_table_count(ss->prepared), 0);
	catalog_free(&ss->catalog);
	prepared_table_free(&ss->prepared);
	params_table_free(&ss->params);
	baggage_table_free(&ss->baggage);
	loop_free(&ss->loop);
}

static int tear_down(void **state)
{
	(void)state;
	if (st.c != NULL)
		client_close(st.c, CLOSE_SHUTDOWN);
	assert_null(st.ss[0].own_roaming.by_key);
	assert_int_equal(st.clients, 0);
	for (unsigned i = 0; i < WORKERS; i++)
		close_worker(i);
	close(st.end);
	ledger_book_free(&st.book);
	config_unref(&st.config);
	assert_int_equal(mem_stat(MEM_CLIENT)->used, 0);
	return 0;
}

static void send_off(unsigned to)
{
	assert_true(client_may_leave(st.c));
	assert_true(client_depart(st.c, to));
	assert_ptr_equal(st.mailed, st.c);
	assert_int_equal(st.to, to);
}

static void arrive(void)
{
	struct client *const c = st.mailed;

	st.mailed = NULL;
	client_arrive(&st.ss[st.to], c);
}

static void move(unsigned to)
{
	send_off(to);
	arrive();
}

static const char *param(const char *name)
{
	return params_get(st.c->params, params_find(st.c->ss->params, name));
}

static void set_param(const char *name, const char *value)
{
	assert_int_equal(params_set(&st.c->params,
	    params_find(st.c->ss->params, name), value), 0);
}

static void prepare(const char *name, bool apart)
{
	struct prepared_table *const t = st.ss[0].prepared;
	struct prepared *const p = apart ?
	    prepared_get_apart(t, prepared_plain(BODY, sizeof BODY - 1)) :
	    prepared_get(t, prepared_plain(BODY, sizeof BODY - 1));

	assert_non_null(p);
	assert_int_equal(prepared_name_add(&st.c->statements, name, p), 0);
	prepared_unref(p);
}

/* --- tests --- */

static void test_it_is_in_the_pool_of_the_other_one(void **state)
{
	const uint64_t id = st.c->id;

	(void)state;
	assert_int_equal(pool_of(0)->client_count[CLIENT_ACTIVE], 1);
	move(1);
	assert_ptr_equal(st.c->ss, &st.ss[1]);
	assert_ptr_equal(st.c->pc.pool, pool_of(1));
	assert_int_equal(pool_of(0)->client_count[CLIENT_ACTIVE], 0);
	assert_int_equal(pool_of(1)->client_count[CLIENT_ACTIVE], 1);
	assert_int_equal(pool_of(0)->key.db->clients, 0);
	assert_int_equal(pool_of(1)->key.db->clients, 1);
	assert_int_equal(pool_of(1)->key.user->clients, 1);
	assert_int_equal(st.ss[0].catalog->clients, 0);
	assert_int_equal(st.ss[1].catalog->clients, 1);
	assert_int_equal(st.clients, 1);
	assert_true(st.c->id == id);
}

static void test_texts_are_made_anew(void **state)
{
	const struct prepared_name *n;

	(void)state;
	set_param("TimeZone", "Asia/Tokyo");
	st.c->baggage = baggage_get(st.ss[0].baggage, "a\0b", 4);
	st.c->brought = baggage_get(st.ss[0].baggage, "x\0y", 4);
	prepare("one", false);
	prepare("two", false);
	prepared_name_find(st.c->statements, "two")->lost = true;
	move(1);
	assert_int_equal(prepared_table_count(st.ss[0].prepared), 0);
	assert_int_equal(prepared_table_count(st.ss[1].prepared), 1);
	assert_string_equal(param("TimeZone"), "Asia/Tokyo");
	n = prepared_name_find(st.c->statements, "one");
	assert_memory_equal(n->stmt->body, BODY, n->stmt->len);
	assert_ptr_equal(n->stmt->table, st.ss[1].prepared);
	assert_ptr_equal(n->stmt,
	    prepared_name_find(st.c->statements, "two")->stmt);
	assert_false(n->lost);
	assert_true(prepared_name_find(st.c->statements, "two")->lost);
	assert_string_equal(baggage_find(st.c->baggage, "a"), "b");
	assert_string_equal(baggage_find(st.c->brought, "x"), "y");
}

static void test_a_statement_of_its_own_stays_its_own(void **state)
{
	(void)state;
	prepare("one", false);
	prepare("own", true);
	move(1);
	assert_ptr_not_equal(prepared_name_find(st.c->statements, "one")->stmt,
	    prepared_name_find(st.c->statements, "own")->stmt);
	assert_true(prepared_name_find(st.c->statements,
	    "own")->stmt->retired);
}

static void test_what_is_unread_is_read_there_once(void **state)
{
	(void)state;
	assert_int_equal(carry_keep(&st.c->carry, "half", 4), 0);
	send_off(1);
	assert_int_equal(send(st.end, "rest", 4, 0), 4);
	turns(0);
	assert_string_equal(st.heard, "");
	arrive();
	turns(1);
	assert_string_equal(st.heard, "half|rest");
	turns(1);
	assert_string_equal(st.heard, "half|rest");
}

static void test_who_hangs_up_on_the_way_is_noticed(void **state)
{
	(void)state;
	send_off(1);
	shutdown(st.end, SHUT_RDWR);
	arrive();
	turns(1);
	assert_null(st.c);
	assert_int_equal(st.clients, 0);
}

static void test_its_key_is_known_where_it_is(void **state)
{
	uint8_t key[CLIENT_KEY_BYTES];
	struct roam_place at;

	(void)state;
	memcpy(key, st.c->key, sizeof key);
	at = roam_find(&st.ss[1], key);
	assert_int_equal(at.worker, -1);
	send_off(1);
	at = roam_find(&st.ss[0], key);
	assert_int_equal(at.worker, 1);
	assert_true(at.is_mailed);
	assert_null(client_find(&st.ss[0], key, sizeof key));
	arrive();
	at = roam_find(&st.ss[0], key);
	assert_int_equal(at.worker, 1);
	assert_false(at.is_mailed);
	assert_ptr_equal(client_find(&st.ss[1], key, sizeof key), st.c);
	move(0);
	assert_int_equal(roam_find(&st.ss[1], key).worker, 0);
	assert_ptr_equal(client_find(&st.ss[0], key, sizeof key), st.c);
	client_close(st.c, CLOSE_SHUTDOWN);
	st.c = NULL;
	assert_int_equal(roam_find(&st.ss[1], key).worker, -1);
}

/* Its user is unknown at both workers meanwhile. */
static void test_its_place_under_a_limit_goes_along(void **state)
{
	struct sessions *const there = &st.ss[1];
	struct ledger *l;

	(void)state;
	send_off(1);
	catalog_drop_pool(st.ss[0].catalog, pool_of(0));
	catalog_drop_user(st.ss[0].catalog,
	    catalog_find_user(st.ss[0].catalog, "ann"));
	arrive();
	l = catalog_find_user(there->catalog, "ann")->share.ledger;
	assert_int_equal(ledger_taken(l, LEDGER_CLIENTS), 1);
	client_close(st.c, CLOSE_SHUTDOWN);
	st.c = NULL;
	assert_int_equal(ledger_taken(l, LEDGER_CLIENTS), 0);
}

static void test_without_room_it_stays(void **state)
{
	(void)state;
	st.full = true;
	assert_false(client_depart(st.c, 1));
	assert_ptr_equal(st.c->ss, &st.ss[0]);
	assert_int_equal(pool_of(0)->client_count[CLIENT_ACTIVE], 1);
	st.full = false;
	move(1);
}

static void test_with_too_many_texts_it_stays(void **state)
{
	static char body[2 << 20] = "select 1 -- ";
	struct prepared *const p = prepared_get(st.ss[0].prepared, prepared_plain(body,
	    sizeof body));

	(void)state;
	assert_non_null(p);
	assert_int_equal(prepared_name_add(&st.c->statements, "one", p), 0);
	prepared_unref(p);
	assert_true(client_may_leave(st.c));
	assert_false(client_depart(st.c, 1));
	assert_ptr_equal(st.c->ss, &st.ss[0]);
	/* it is not looked at over and over */
	assert_false(client_may_leave(st.c));
}

static void test_idle_time_goes_on(void **state)
{
	(void)state;
	st.ss[0].watch_idle = st.ss[1].watch_idle = true;
	timeout_start(&st.ss[0].idle_list, &st.c->timer, 12345);
	move(1);
	assert_int_equal(st.ss[0].idle_list.count, 0);
	assert_int_equal(st.ss[1].idle_list.count, 1);
	assert_int_equal(st.c->timer.since, 12345);
}

static void test_busy_or_tied_it_does_not_leave(void **state)
{
	struct client *const c = st.c;

	(void)state;
#define STAYS(field, value) \
	do { \
		const __typeof__(c->field) was = c->field; \
		c->field = value; \
		assert_false(client_may_leave(c)); \
		c->field = was; \
	} while (0)
	assert_true(client_may_leave(c));
	STAYS(welcomed, false);
	STAYS(rest.bytes, 1);
	STAYS(xact_start, 1);
	STAYS(query_start, 1);
	STAYS(relay.hold, true);
	STAYS(relay.discards, true);
	STAYS(relay.withheld, WITHHELD);
	STAYS(stream.paused, STREAM_PAUSED);
	STAYS(stream.hup, true);
	STAYS(pc.pool->limits.mode, POOL_SESSION);
	STAYS(pc.state, CLIENT_WAITING);
	STAYS(ss->suspended, true);
	STAYS(ss->others, 0);
	assert_true(client_may_leave(c));
}

static void test_suspended_meanwhile_it_stands_still(void **state)
{
	(void)state;
	send_off(1);
	st.ss[1].suspended = true;
	arrive();
	assert_true(stream_is_suspended(&st.c->stream));
	assert_int_equal(send(st.end, "x", 1, 0), 1);
	turns(1);
	assert_string_equal(st.heard, "");
}

static void drop(unsigned n)
{
	struct catalog *const c = st.ss[n].catalog;

	catalog_drop_database(c, catalog_find_database(c, "shop"));
}

static void test_where_its_pool_is_no_more_it_goes_home(void **state)
{
	(void)state;
	prepare("one", false);
	send_off(1);
	drop(1);
	arrive();
	assert_ptr_equal(st.mailed, st.c);
	assert_int_equal(st.to, 0);
	arrive();
	assert_ptr_equal(st.c->pc.pool, pool_of(0));
	assert_non_null(prepared_name_find(st.c->statements, "one"));
}

static void test_at_home_without_a_database_it_is_counted_no_more(void **state)
{
	struct ledger *l;

	(void)state;
	move(1);
	l = catalog_find_user(st.ss[1].catalog, "ann")->share.ledger;
	send_off(0);
	drop(0);
	arrive();
	st.c = NULL;
	turns(0);
	assert_int_equal(st.clients, 0);
	assert_int_equal(ledger_taken(l, LEDGER_CLIENTS), 0);
}

/* Each allocation of the way fails once; then it is at home, there, or closed. */
static bool move_without(unsigned long nth)
{
	prepare("one", false);
	set_param("TimeZone", "Asia/Tokyo");
	mem_fail_at(nth);
	if (client_depart(st.c, 1))
		arrive();
	if (st.mailed != NULL)
		arrive();
	const bool failed = mem_fail_at(0) >= nth;

	if (client_is_open(st.c))
		client_close(st.c, CLOSE_SHUTDOWN);
	turns(0);
	turns(1);
	close(st.end);
	assert_int_equal(st.clients, 0);
	st.c = come();
	return failed;
}

static void test_without_memory_it_is_at_one_place_or_closed(void **state)
{
	unsigned long n = 1;

	(void)state;
	while (move_without(n))
		n++;
	assert_true(n > 10);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_it_is_in_the_pool_of_the_other_one),
		TEST(test_texts_are_made_anew),
		TEST(test_a_statement_of_its_own_stays_its_own),
		TEST(test_what_is_unread_is_read_there_once),
		TEST(test_who_hangs_up_on_the_way_is_noticed),
		TEST(test_its_key_is_known_where_it_is),
		TEST(test_its_place_under_a_limit_goes_along),
		TEST(test_without_room_it_stays),
		TEST(test_with_too_many_texts_it_stays),
		TEST(test_idle_time_goes_on),
		TEST(test_busy_or_tied_it_does_not_leave),
		TEST(test_suspended_meanwhile_it_stands_still),
		TEST(test_where_its_pool_is_no_more_it_goes_home),
		TEST(test_at_home_without_a_database_it_is_counted_no_more),
		TEST(test_without_memory_it_is_at_one_place_or_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
