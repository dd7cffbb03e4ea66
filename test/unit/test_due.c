/* test_due.c - when a pool must be looked at again.
 * SPDX-License-Identifier: ISC */
#include "pool/due.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool/catalog.h"

#define NOW (10000 * USEC)
#define LIFETIME (3600 * USEC)
#define IDLE (600 * USEC)
#define CHECK (30 * USEC)

struct fixture {
	struct config_db conf;
	struct database db;
	struct user user;
	struct pool pool;
	struct pool_server s[8];
	struct pool_client c[8];
	unsigned servers, clients;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof f);
	f.db.conf = &f.conf;
	f.pool.key.db = &f.db;
	f.pool.key.user = &f.user;
	f.pool.limits = (struct pool_limits){ .size = 5, .lifetime = LIFETIME,
		.idle_timeout = IDLE, .login_retry = 15 * USEC,
		.login_concurrency = 4, .check = true, .check_delay = CHECK };
	*state = &f;
	return 0;
}

static struct pool_server *server(struct fixture *f, enum server_state state)
{
	struct pool_server *ps = &f->s[f->servers++];

	*ps = (struct pool_server){ .pool = &f->pool, .state = SERVER_GONE,
		.born = NOW, .used = NOW };
	pool_server_set(ps, state);
	return ps;
}

static struct pool_client *client(struct fixture *f, enum client_state state)
{
	struct pool_client *pc = &f->c[f->clients++];

	*pc = (struct pool_client){ .pool = &f->pool, .wait_since = NOW };
	pool_client_set(pc, state);
	return pc;
}

/* As the upkeep does it: its spares were looked at. */
static usec_t due(struct fixture *f, usec_t now)
{
	return due_next(&f->pool, &(struct due_times){ .now = now,
	    .retry = WHEEL_NEVER, .idle = due_idle_servers(&f->pool, now), .unused = 0 });
}

static void test_pool_without_servers_sleeps(void **state)
{
	struct fixture *f = *state;

	assert_true(due(f, NOW) == WHEEL_NEVER);
	client(f, CLIENT_ACTIVE);
	assert_true(due(f, NOW) == WHEEL_NEVER);
}

static void test_work_and_waiting_are_watched_in_each_tick(void **state)
{
	static const enum client_state waits[] = { CLIENT_WAITING,
		CLIENT_WELCOME, CLIENT_DEDICATED_WAITING, CLIENT_CANCEL_WAITING };
	struct fixture *f = *state;
	struct pool_server *ps = server(f, SERVER_ACTIVE);

	assert_int_equal(due(f, NOW), 0);
	pool_server_set(ps, SERVER_GONE);
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		struct pool_client *pc = client(f, waits[i]);

		assert_int_equal(due(f, NOW), 0);
		pool_client_set(pc, CLIENT_LOGIN);
		assert_true(due(f, NOW) == WHEEL_NEVER);
	}
}

static void test_idle_server_is_due_for_its_check_first(void **state)
{
	struct fixture *f = *state;
	struct pool_server *ps = server(f, SERVER_IDLE);

	assert_int_equal(due(f, NOW), NOW + CHECK + 1);
	pool_server_set(ps, SERVER_USED);
	assert_int_equal(due(f, NOW + CHECK), NOW + IDLE + 1);
	f->pool.limits.idle_timeout = 0;
	assert_int_equal(due(f, NOW + CHECK), NOW + LIFETIME);
}

static void test_the_longest_unused_counts(void **state)
{
	struct fixture *f = *state;

	server(f, SERVER_USED)->used = NOW - 20 * USEC;
	server(f, SERVER_USED)->used = NOW - 50 * USEC;
	server(f, SERVER_IDLE);
	assert_int_equal(due(f, NOW), NOW + CHECK + 1);
	f->pool.limits.check = false;
	assert_int_equal(due(f, NOW), NOW - 50 * USEC + IDLE + 1);
}

static void test_minimum_keeps_idle_servers(void **state)
{
	struct fixture *f = *state;
	struct pool_server *ps = server(f, SERVER_USED);

	f->pool.limits.min = 1;
	assert_int_equal(due(f, NOW), NOW + LIFETIME);
	server(f, SERVER_USED);
	assert_int_equal(due(f, NOW), NOW + IDLE + 1);
	/* spread over the pool: not before the last one's share is over */
	pool_server_set(ps, SERVER_GONE);
	f->pool.last_lifetime_close = NOW + LIFETIME;
	assert_int_equal(due(f, NOW), NOW + LIFETIME + LIFETIME / 5);
}

static void test_one_more_than_the_minimum_frees_spares(void **state)
{
	static const enum server_state logins[] = { SERVER_LOGIN,
		SERVER_DEDICATED_LOGIN };
	struct fixture *f = *state;

	f->pool.limits.min = 1;
	f->pool.limits.check = false;
	server(f, SERVER_IDLE);
	for (size_t i = 0; i < sizeof logins / sizeof *logins; i++) {
		struct pool_server *ps = server(f, logins[i]);

		due_idle_servers(&f->pool, NOW);
		assert_true(f->pool.idle_due_at > NOW + IDLE + 1);
		pool_server_set(ps, SERVER_ACTIVE);
		assert_int_equal(f->pool.idle_due_at, 0);
		assert_int_equal(due_idle_servers(&f->pool, NOW), NOW + IDLE + 1);
		pool_server_set(ps, SERVER_GONE);
	}
}

static void test_busy_pool_need_not_look_at_all_spares(void **state)
{
	struct fixture *f = *state;
	struct pool_server *ps = server(f, SERVER_IDLE);

	f->pool.idle_due_at = 0;
	due_idle_servers(&f->pool, NOW);
	/* used over and over, by and by by another: the bound holds */
	for (int i = 1; i < 30; i++) {
		pool_server_set(ps, SERVER_ACTIVE);
		ps->used = NOW + i * USEC;
		pool_server_set(ps, SERVER_IDLE);
		assert_int_equal(f->pool.idle_due_at, NOW + CHECK + 1);
	}
	assert_int_equal(due(f, NOW + CHECK), NOW + 29 * USEC + CHECK + 1);
	/* a new one may be due before: it was opened long ago, elsewhere */
	server(f, SERVER_IDLE);
	assert_int_equal(f->pool.idle_due_at, 0);
}

static void test_server_of_a_silent_client_is_due_by_its_last_use(void **state)
{
	struct fixture *f = *state;
	struct pool_server *ps = server(f, SERVER_ACTIVE);

	due_idle_servers(&f->pool, NOW + 900 * USEC);
	assert_int_equal(f->pool.idle_due_at, NOW + 900 * USEC + CHECK + 1);
	pool_server_set(ps, SERVER_IDLE);
	assert_int_equal(f->pool.idle_due_at, 0);
	assert_int_equal(due_idle_servers(&f->pool, NOW + 901 * USEC),
	    NOW + CHECK + 1);
}

static void test_obsolete_spare_is_due_now(void **state)
{
	struct fixture *f = *state;
	struct pool_server *ps = server(f, SERVER_TESTED);

	ps->close_needed = true;
	assert_int_equal(due_idle_servers(&f->pool, NOW), 0);
	assert_int_equal(f->pool.idle_due_at, 0);
	/* nobody could close it just now */
	assert_int_equal(due(f, NOW), NOW + DUE_AGAIN);
}

static void test_too_small_pool_is_tried_again(void **state)
{
	struct fixture *f = *state;

	f->pool.limits.min = 2;
	assert_true(due(f, NOW) == WHEEL_NEVER);
	client(f, CLIENT_ACTIVE);
	assert_int_equal(due(f, NOW), NOW + DUE_AGAIN);
	f->pool.failing = true;
	f->pool.last_launch = NOW - USEC;
	assert_int_equal(due(f, NOW), NOW + 14 * USEC);
	/* on its way: its end wakes the pool */
	server(f, SERVER_LOGIN);
	assert_true(due(f, NOW) > NOW + 14 * USEC);
}

static void test_unused_pool_is_due_at_its_limit(void **state)
{
	struct fixture *f = *state;
	struct due_times t = { .now = NOW, .retry = WHEEL_NEVER,
		.idle = WHEEL_NEVER,
		.unused = 60 * USEC };

	assert_false(due_is_used(&f->pool));
	f->pool.unused_since = NOW - 10 * USEC;
	assert_int_equal(due_next(&f->pool, &t), NOW + 50 * USEC + 1);
	t.unused = 0;
	assert_true(due_next(&f->pool, &t) == WHEEL_NEVER);
	/* something keeps it: not in each tick again */
	t.unused = 5 * USEC;
	assert_int_equal(due_next(&f->pool, &t), NOW + DUE_AGAIN);
	client(f, CLIENT_CANCEL_SENT);
	assert_true(due_is_used(&f->pool));
}

/* What brings a pool that sleeps back to the upkeep. */
static void test_whatever_happens_wakes_the_pool(void **state)
{
	struct fixture *f = *state;
	struct wheel w;

	wheel_init(&w, DUE_GRAIN, NOW);
	wheel_add(&w, &f->pool.wheel);
#define SLEEP() wheel_turn(&w, NOW); \
	assert_ptr_equal(wheel_take(&w), &f->pool.wheel); \
	assert_true(f->pool.wheel.due == WHEEL_NEVER)
	SLEEP();
	struct pool_client *pc = client(f, CLIENT_ACTIVE);

	SLEEP();
	pool_client_set(pc, CLIENT_WAITING);
	SLEEP();
	struct pool_server *ps = server(f, SERVER_LOGIN);

	SLEEP();
	pool_server_set(ps, SERVER_IDLE);
	SLEEP();
	pool_link(pc, ps);
	SLEEP();
	pool_recheck(&f->pool);
	SLEEP();
	catalog_touch_pool(&(struct catalog){ .paused = false }, &f->pool);
	SLEEP();
	pool_server_set(ps, SERVER_GONE);
	SLEEP();
	pool_client_set(pc, CLIENT_LOGIN);
	SLEEP();
	wheel_remove(&f->pool.wheel);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	static const struct CMUnitTest tests[] = {
		CASE(test_pool_without_servers_sleeps),
		CASE(test_work_and_waiting_are_watched_in_each_tick),
		CASE(test_idle_server_is_due_for_its_check_first),
		CASE(test_the_longest_unused_counts),
		CASE(test_minimum_keeps_idle_servers),
		CASE(test_one_more_than_the_minimum_frees_spares),
		CASE(test_busy_pool_need_not_look_at_all_spares),
		CASE(test_server_of_a_silent_client_is_due_by_its_last_use),
		CASE(test_obsolete_spare_is_due_now),
		CASE(test_too_small_pool_is_tried_again),
		CASE(test_unused_pool_is_due_at_its_limit),
		CASE(test_whatever_happens_wakes_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
