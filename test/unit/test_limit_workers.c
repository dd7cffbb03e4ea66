/* test_limit_workers.c - parts of a pool at two workers: what they take together.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <utlist.h>

#include "base/ledger.h"
#include "pool/catalog.h"
#include "pool/limit.h"

#define NOW (1000 * USEC)
#define DELAY (USEC / 4)
#define SIZE 4
#define LEASE 2

/* What each of two workers has of one pool. */
struct part {
	struct catalog catalog;
	struct database db;
	struct user user;
	struct pool pool;
	unsigned rings;
};

struct fixture {
	struct ledger_book *book;
	struct config_db conf;
	struct part at[2];
	struct pool_server s[16];
	struct pool_client c[16];
	unsigned servers, clients;
	struct welcome welcome;		/* at the end: its size varies */
};

static void ring(void *arg)
{
	struct part *const part = arg;

	part->rings++;
}

static void enter(struct fixture *f, unsigned worker)
{
	struct part *const part = &f->at[worker];
	struct pool *const p = &part->pool;

	part->db.conf = &f->conf;
	part->user.queue.kind = part->user.share.kind = LIMIT_USER;
	p->key = (struct pool_key){ &part->db, &part->user };
	p->welcome = &f->welcome;
	p->share.kind = LIMIT_POOL;
	p->lease = LEASE;
	p->is_part = worker != 0;
	p->limits = (struct pool_limits){ .size = SIZE, .lifetime = USEC,
		.reserve = 1, .reserve_timeout = USEC,
		.login_retry = 15 * USEC, .login_concurrency = 4,
		.max_db = SIZE - 1, .handover_delay = DELAY,
		.worker_handover_delay = DELAY };
	DL_PREPEND2(part->db.pools, p, db_prev, db_next);
	DL_PREPEND2(part->user.pools, p, user_prev, user_next);
	assert_int_equal(limit_queue_enroll(&part->db.queue), 0);
	ledger_book_join(f->book, worker, (struct ledger_bell){ ring, part });
	assert_int_equal(limit_share_open(&p->share, f->book, worker,
	    (struct limit_name){ "db", "user" }), 0);
	assert_int_equal(limit_share_open(&part->db.share, f->book, worker,
	    (struct limit_name){ "db", NULL }), 0);
}

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof f);
	f.book = ledger_book_new(2);
	for (unsigned i = 0; i < 2; i++)
		enter(&f, i);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *const f = *state;

	for (unsigned i = 0; i < 2; i++) {
		limit_queue_fini(&f->at[i].db.queue);
		limit_share_close(&f->at[i].pool.share);
		limit_share_close(&f->at[i].db.share);
		ledger_book_leave(f->book, i);
	}
	ledger_book_free(&f->book);
	return 0;
}

static struct pool_server *server(struct fixture *f, unsigned worker,
    enum server_state state)
{
	struct pool_server *const ps = &f->s[f->servers++];

	*ps = (struct pool_server){ .pool = &f->at[worker].pool,
		.state = SERVER_GONE, .born = NOW - USEC, .used = NOW };
	pool_server_set(ps, state);
	return ps;
}

static struct pool_client *waiter(struct fixture *f, unsigned worker,
    usec_t since)
{
	struct pool_client *const pc = &f->c[f->clients++];

	*pc = (struct pool_client){ .pool = &f->at[worker].pool,
		.wait_since = since };
	pool_client_set(pc, CLIENT_WAITING);
	return pc;
}

static void test_parts_have_together_what_one_may_have(void **state)
{
	struct fixture *const f = *state;
	struct pool *const p = &f->at[0].pool, *const q = &f->at[1].pool;
	bool reserve;

	p->limits.max_db = q->limits.max_db = 0;
	server(f, 0, SERVER_ACTIVE);
	server(f, 0, SERVER_LOGIN);
	server(f, 1, SERVER_ACTIVE);
	/* a listener counts for the database alone */
	struct pool_server *const l = server(f, 1, SERVER_LISTENING);

	assert_int_equal(pool_held(p), 3);
	assert_int_equal(pool_held(q), 3);
	assert_int_equal(limit_taken(p, LIMIT_DB), 4);
	waiter(f, 1, NOW);
	waiter(f, 1, NOW);
	assert_int_equal(pool_wanted(q, NOW, &reserve), 1);
	assert_true(limit_take(q, NOW));
	assert_int_equal(pool_held(p), 4);
	/* it is the one that was taken for, and is given back when it goes */
	struct pool_server *const ps = server(f, 1, SERVER_LOGIN);

	assert_int_equal(pool_held(p), 4);
	assert_int_equal(pool_wanted(q, NOW, &reserve), 0);
	assert_false(limit_take(q, NOW));
	limit_give_back(q);
	assert_int_equal(pool_held(p), 4);
	pool_server_set(l, SERVER_GONE);
	pool_server_set(ps, SERVER_GONE);
	assert_int_equal(pool_held(p), 3);
	assert_int_equal(limit_taken(p, LIMIT_DB), 3);
}

static void test_slot_of_a_full_database_is_not_kept_of_the_pool(void **state)
{
	struct fixture *const f = *state;
	struct pool *const q = &f->at[1].pool;

	for (unsigned i = 0; i < SIZE - 1; i++)
		server(f, 0, SERVER_ACTIVE);
	assert_false(limit_take(q, NOW));
	limit_give_back(q);
	assert_int_equal(pool_held(q), SIZE - 1);
	assert_int_equal(limit_taken(q, LIMIT_DB), SIZE - 1);
}

static void test_listener_takes_a_slot_of_the_database_alone(void **state)
{
	struct fixture *const f = *state;
	struct pool *const q = &f->at[1].pool;

	for (unsigned i = 0; i < SIZE - 2; i++)
		server(f, 0, SERVER_ACTIVE);
	assert_true(limit_take_unsized(q));
	assert_int_equal(pool_held(q), SIZE - 2);
	assert_false(limit_take_unsized(&f->at[0].pool));
	limit_give_back(&f->at[0].pool);
	server(f, 1, SERVER_LISTENING);
	assert_int_equal(pool_held(q), SIZE - 2);
	assert_int_equal(limit_taken(q, LIMIT_DB), SIZE - 1);
}

static void test_reserve_is_one_for_all_parts(void **state)
{
	struct fixture *const f = *state;
	struct pool *const p = &f->at[0].pool, *const q = &f->at[1].pool;

	p->limits.max_db = q->limits.max_db = 0;
	for (unsigned i = 0; i < SIZE; i++)
		server(f, i % 2, SERVER_ACTIVE);
	waiter(f, 0, NOW - USEC);
	waiter(f, 1, NOW - USEC + 1);
	assert_int_equal(pool_maximum(q, NOW), SIZE);
	assert_int_equal(pool_maximum(p, NOW), SIZE + 1);
	assert_true(limit_take(p, NOW));
	server(f, 0, SERVER_LOGIN);
	assert_int_equal(pool_maximum(q, NOW + USEC), SIZE);
	assert_false(limit_take(q, NOW + USEC));
	limit_give_back(q);
	assert_false(limit_is_oversize(p));
	/* what carries cancel requests is not held back, nor does it count */
	server(f, 1, SERVER_ACTIVE_CANCEL);
	assert_int_equal(pool_held(p), SIZE + 2);
	assert_false(limit_is_oversize(p));
}

static void test_only_the_home_opens_one_past_the_size(void **state)
{
	struct fixture *const f = *state;

	for (unsigned i = 0; i < SIZE; i++)
		server(f, 0, SERVER_ACTIVE);
	f->at[0].pool.welcome = f->at[1].pool.welcome = NULL;
	assert_int_equal(pool_maximum(&f->at[0].pool, NOW), 0);
	assert_int_equal(pool_maximum(&f->at[1].pool, NOW), SIZE);
}

static void test_free_slot_is_for_the_part_that_waits_longest(void **state)
{
	struct fixture *const f = *state;
	struct pool *const p = &f->at[0].pool, *const q = &f->at[1].pool;
	unsigned to;

	p->limits.max_db = q->limits.max_db = 0;
	for (unsigned i = 0; i < SIZE; i++)
		server(f, i % 2, SERVER_ACTIVE);
	struct pool_client *const pc = waiter(f, 1, NOW - 2);

	waiter(f, 0, NOW - 1);
	/* who has servers is called, once in a while */
	assert_false(limit_ask(q, &f->at[1].catalog, NOW));
	assert_int_equal(f->at[0].rings, 1);
	assert_true(limit_is_rival_first(p));
	assert_false(limit_find_recipient(p, &to));
	p->clients[CLIENT_WAITING]->wait_since = NOW + DELAY - 2;
	assert_true(limit_find_recipient(p, &to));
	assert_int_equal(to, 1);
	/* it goes there as it is */
	assert_false(limit_rival_takes_away(p));
	/* it says anew what has changed */
	pool_client_set(pc, CLIENT_ACTIVE);
	assert_null(limit_tell(&q->share, &f->at[1].catalog, NOW));
	assert_false(limit_is_rival_first(p));
}

static void test_idle_server_goes_for_a_part_that_waits(void **state)
{
	struct fixture *const f = *state;
	struct pool *const p = &f->at[0].pool, *const q = &f->at[1].pool;
	unsigned to;

	p->limits.max_db = q->limits.max_db = 0;
	for (unsigned i = 0; i < SIZE - 1; i++)
		server(f, 0, SERVER_ACTIVE);
	struct pool_server *const idle = server(f, 0, SERVER_IDLE);

	assert_null(limit_yield(&p->share, &f->at[0].catalog, NOW));
	waiter(f, 1, NOW - 1);
	assert_false(limit_ask(q, &f->at[1].catalog, NOW));
	assert_true(limit_find_recipient(p, &to));
	assert_int_equal(to, 1);
	assert_null(limit_yield(&p->share, &f->at[0].catalog, NOW));
	/* one to be checked is closed; they have fewer than their lease */
	pool_server_set(idle, SERVER_USED);
	assert_ptr_equal(limit_yield(&p->share, &f->at[0].catalog, NOW), idle);
	f->at[0].rings = 0;
	pool_server_set(idle, SERVER_GONE);
	assert_int_equal(f->at[1].rings, 1);
	assert_true(limit_take(q, NOW));
	limit_give_back(q);
}

/*
 * Who has clients of its own sends one after the other: a second one in the same
 * turn only where the wait is longer by far.
 */
static void test_part_is_sent_one_server_while_others_have_clients(void **state)
{
	struct fixture *const f = *state;
	struct pool *const p = &f->at[0].pool, *const q = &f->at[1].pool;
	const usec_t delay = USEC / 1000;
	unsigned to;

	p->limits.max_db = q->limits.max_db = 0;
	p->limits.worker_handover_delay = delay;
	p->lease = SIZE;
	for (unsigned i = 0; i < SIZE - 1; i++)
		server(f, i % 2, SERVER_ACTIVE);
	struct pool_server *const idle = server(f, 0, SERVER_IDLE);

	waiter(f, 1, NOW - 6 * delay);
	waiter(f, 1, NOW - 6 * delay);
	struct pool_client *const own = waiter(f, 0, NOW - 1);

	assert_false(limit_ask(q, &f->at[1].catalog, NOW));
	assert_true(limit_find_recipient(p, &to));
	idle->trip = TRIP_AHEAD;
	assert_false(limit_find_recipient(p, &to));
	own->wait_since = NOW;
	assert_true(limit_find_recipient(p, &to));
	own->wait_since = NOW - 1;
	/* what nobody needs here may go as well */
	pool_client_set(own, CLIENT_ACTIVE);
	assert_true(limit_find_recipient(p, &to));
	idle->trip = TRIP_NONE;
	/* no more than it has clients for */
	struct ledger_trip sent[2];

	for (int i = 0; i < 2; i++)
		sent[i] = ledger_send(p->share.ledger, LEDGER_SERVERS, 1);
	assert_false(limit_find_recipient(p, &to));
	for (int i = 0; i < 2; i++) {
		ledger_receive(q->share.ledger, &sent[i]);
		sent[i] = ledger_send(q->share.ledger, LEDGER_SERVERS, 0);
		ledger_receive(p->share.ledger, &sent[i]);
	}
}

/* It looks itself each time that one is released. */
static void test_part_whose_clients_wait_is_not_called(void **state)
{
	struct fixture *const f = *state;
	struct pool *const p = &f->at[0].pool, *const q = &f->at[1].pool;

	p->limits.max_db = q->limits.max_db = 0;
	for (unsigned i = 0; i < SIZE; i++)
		server(f, i % 2, SERVER_ACTIVE);
	struct pool_client *const own = waiter(f, 0, NOW - 1);

	waiter(f, 1, NOW);
	(void)limit_tell(&p->share, &f->at[0].catalog, NOW);
	f->at[0].rings = 0;
	assert_false(limit_ask(q, &f->at[1].catalog, NOW));
	assert_int_equal(f->at[0].rings, 0);
	pool_client_set(own, CLIENT_ACTIVE);
	(void)limit_tell(&p->share, &f->at[0].catalog, NOW);
	assert_false(limit_ask(q, &f->at[1].catalog, NOW + USEC));
	assert_int_equal(f->at[0].rings, 1);
}

static void test_part_above_its_lease_gives_to_one_below(void **state)
{
	struct fixture *const f = *state;
	struct pool *const p = &f->at[0].pool, *const q = &f->at[1].pool;
	unsigned to;

	p->limits.max_db = q->limits.max_db = 0;
	p->limits.worker_handover_delay = USEC;
	for (unsigned i = 0; i < SIZE; i++)
		server(f, 0, SERVER_ACTIVE);
	struct pool_client *const own = waiter(f, 0, NOW - USEC / 2);

	waiter(f, 1, NOW);
	assert_false(limit_ask(q, &f->at[1].catalog, NOW));
	assert_true(limit_find_recipient(p, &to));
	/* not to who has waited less by far */
	own->wait_since--;
	assert_false(limit_find_recipient(p, &to));
	own->wait_since = NOW;
	p->lease = SIZE;
	assert_false(limit_find_recipient(p, &to));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(test_parts_have_together_what_one_may_have),
		TEST(test_slot_of_a_full_database_is_not_kept_of_the_pool),
		TEST(test_listener_takes_a_slot_of_the_database_alone),
		TEST(test_reserve_is_one_for_all_parts),
		TEST(test_only_the_home_opens_one_past_the_size),
		TEST(test_free_slot_is_for_the_part_that_waits_longest),
		TEST(test_idle_server_goes_for_a_part_that_waits),
		TEST(test_part_is_sent_one_server_while_others_have_clients),
		TEST(test_part_whose_clients_wait_is_not_called),
		TEST(test_part_above_its_lease_gives_to_one_below),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
