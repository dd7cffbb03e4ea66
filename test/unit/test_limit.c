/* test_limit.c - pools under one limit: victims, and whose turn it is.
 * SPDX-License-Identifier: ISC */
#include "pool/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include <cmocka.h>

#include "pool/catalog.h"
#include "pool/hosts.h"

#define NOW (1000 * USEC)
#define DELAY (USEC / 4)
#define POOLS 3

/* Three users' pools of one database, and of another one that u0 uses too. */
struct fixture {
	struct catalog catalog;
	struct config_db conf;
	struct database db[2];
	struct user user[POOLS];
	struct pool pool[POOLS + 1];
	struct pool_server s[32];
	struct pool_client c[64];
	unsigned servers, clients;
	struct welcome welcome;		/* at the end: its size varies */
};

static void enter(struct fixture *f, struct pool *p, struct database *db,
    struct user *u)
{
	p->key.db = db;
	p->key.user = u;
	p->welcome = &f->welcome;
	p->limits = (struct pool_limits){ .size = 10, .lifetime = 1000 * USEC,
		.login_retry = 15 * USEC, .login_concurrency = 4,
		.max_db = 2, .handover_delay = DELAY };
	DL_PREPEND2(db->pools, p, db_prev, db_next);
	DL_PREPEND2(u->pools, p, user_prev, user_next);
	assert_int_equal(limit_queue_enroll(&db->queue), 0);
	assert_int_equal(limit_queue_enroll(&u->queue), 0);
}

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof f);
	for (int i = 0; i < 2; i++)
		f.db[i].conf = &f.conf;
	for (int i = 0; i < POOLS; i++) {
		f.user[i].queue.kind = LIMIT_USER;
		enter(&f, &f.pool[i], &f.db[0], &f.user[i]);
	}
	enter(&f, &f.pool[POOLS], &f.db[1], &f.user[0]);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++)
		limit_queue_fini(&f->db[i].queue);
	for (int i = 0; i < POOLS; i++)
		limit_queue_fini(&f->user[i].queue);
	return 0;
}

static struct pool_server *server(struct fixture *f, unsigned pool,
    enum server_state state)
{
	struct pool_server *ps = &f->s[f->servers++];

	*ps = (struct pool_server){ .pool = &f->pool[pool],
		.state = SERVER_GONE, .born = NOW - USEC, .used = NOW };
	pool_server_set(ps, state);
	return ps;
}

static struct pool_client *waiter(struct fixture *f, unsigned pool,
    usec_t since)
{
	struct pool_client *pc = &f->c[f->clients++];

	*pc = (struct pool_client){ .pool = &f->pool[pool],
		.wait_since = since };
	pool_client_set(pc, CLIENT_WAITING);
	limit_join(pc->pool);
	return pc;
}

static const struct pool *heir(struct fixture *f, unsigned pool, usec_t now)
{
	return limit_heir(&f->pool[pool], &f->catalog, now);
}

static bool takes_away(struct fixture *f, unsigned pool, usec_t now)
{
	return limit_takes_away(f->pool[pool].servers[SERVER_ACTIVE],
	    &f->catalog, now);
}

static void test_lowered_limit_takes_what_is_given_back(void **state)
{
	struct fixture *f = *state;
	struct pool_server *const ps = server(f, 0, SERVER_ACTIVE);

	server(f, 0, SERVER_ACTIVE);
	assert_int_equal(limit_exceeded(ps), CLOSE_NONE);
	assert_null(limit_surplus(&f->pool[0]));
	/* a canceler does not count */
	server(f, 1, SERVER_ACTIVE_CANCEL);
	assert_int_equal(limit_exceeded(ps), CLOSE_NONE);
	struct pool_server *const idle = server(f, 1, SERVER_IDLE);
	assert_int_equal(limit_exceeded(ps), CLOSE_EVICTED);
	assert_ptr_equal(limit_surplus(&f->pool[0]), idle);
	f->pool[0].limits.max_db = 0;
	assert_int_equal(limit_exceeded(ps), CLOSE_NONE);
	f->pool[0].limits.size = 1;
	assert_int_equal(limit_exceeded(ps), CLOSE_TOO_MANY_SERVERS);
	f->pool[0].limits.reserve = 1;
	assert_int_equal(limit_exceeded(ps), CLOSE_NONE);
	f->pool[0].limits.reserve = 0;
	pool_server_set(ps, SERVER_LOGIN);
	server(f, 0, SERVER_ACTIVE);
	assert_int_equal(limit_exceeded(ps), CLOSE_NONE);
}

static void test_slot_is_for_who_waits_longest(void **state)
{
	struct fixture *f = *state;

	server(f, 0, SERVER_ACTIVE);
	server(f, 0, SERVER_ACTIVE);
	waiter(f, 0, NOW - 3);
	assert_null(heir(f, 0, NOW));
	waiter(f, 1, NOW - 4);
	struct pool_client *oldest = waiter(f, 2, NOW - 5);

	waiter(f, 2, NOW - 2);
	assert_ptr_equal(heir(f, 0, NOW), &f->pool[2]);
	assert_ptr_equal(heir(f, 1, NOW), &f->pool[2]);
	assert_null(heir(f, 2, NOW));
	/* it is gone, the others of its pool are younger */
	pool_client_set(oldest, CLIENT_ACTIVE);
	assert_ptr_equal(heir(f, 0, NOW), &f->pool[1]);
	assert_null(heir(f, 1, NOW));
	assert_ptr_equal(heir(f, 2, NOW), &f->pool[1]);
}

static void test_slot_is_not_for_who_has_no_host_to_go_to(void **state)
{
	struct fixture *f = *state;
	char host[] = "x";

	f->conf.host = host;
	f->pool[1].drained_at = NOW;
	server(f, 0, SERVER_ACTIVE);
	server(f, 0, SERVER_ACTIVE);
	waiter(f, 0, NOW - 3);
	waiter(f, 1, NOW - 4);
	assert_int_equal(drain_add(&f->catalog, "a"), 0);
	assert_null(heir(f, 0, NOW));
	assert_true(drain_remove(&f->catalog, NULL));
	limit_join(&f->pool[1]);
	assert_ptr_equal(heir(f, 0, NOW), &f->pool[1]);
}

static void test_below_the_limit_nobody_looks_at_others(void **state)
{
	struct fixture *f = *state;

	f->pool[0].limits.max_db = f->pool[1].limits.max_db = 4;
	server(f, 0, SERVER_ACTIVE);
	server(f, 0, SERVER_ACTIVE);
	waiter(f, 1, NOW - 9 * USEC);
	waiter(f, 0, NOW - 1);
	assert_null(heir(f, 0, NOW));
	/* the last slot is for the first in line */
	server(f, 0, SERVER_ACTIVE);
	assert_ptr_equal(heir(f, 0, NOW), &f->pool[1]);
	assert_false(takes_away(f, 0, NOW));
	server(f, 0, SERVER_ACTIVE);
	assert_true(takes_away(f, 0, NOW));
}

static void test_server_is_taken_away_for_a_long_wait_only(void **state)
{
	struct fixture *f = *state;
	struct pool_server *s = server(f, 0, SERVER_ACTIVE);

	server(f, 0, SERVER_ACTIVE);
	struct pool_client *own = waiter(f, 0, NOW - 1);

	waiter(f, 1, NOW - DELAY);
	assert_false(takes_away(f, 0, NOW));
	own->wait_since = NOW;
	assert_true(takes_away(f, 0, NOW));
	/* it has just come: let it serve for a while */
	s->born = NOW - DELAY + 1;
	assert_false(takes_away(f, 0, NOW));
	assert_true(takes_away(f, 0, NOW + 1));
	f->pool[0].limits.handover_delay = 0;
	assert_false(takes_away(f, 0, NOW + 100 * USEC));
}

static void test_own_client_that_waits_longer_keeps_the_server(void **state)
{
	struct fixture *f = *state;

	server(f, 0, SERVER_ACTIVE);
	server(f, 0, SERVER_ACTIVE);
	waiter(f, 0, NOW - 3);
	waiter(f, 1, NOW - 2);
	assert_false(takes_away(f, 0, NOW + USEC));
}

static void test_a_server_on_its_way_is_enough(void **state)
{
	struct fixture *f = *state;
	struct pool_client *own;

	server(f, 0, SERVER_ACTIVE);
	waiter(f, 1, NOW - 2 * USEC);
	own = waiter(f, 0, NOW - USEC);
	server(f, 1, SERVER_LOGIN);
	assert_false(takes_away(f, 0, NOW));
	limit_join(&f->pool[1]);
	/* of its two waiters the one that is left came later */
	waiter(f, 1, NOW - USEC / 2);
	assert_false(takes_away(f, 0, NOW));
	pool_client_set(own, CLIENT_ACTIVE);
	waiter(f, 0, NOW - 1);
	limit_join(&f->pool[1]);
	assert_true(takes_away(f, 0, NOW));
}

static void test_who_cannot_open_one_does_not_count(void **state)
{
	struct fixture *f = *state;
	struct pool *p = &f->pool[1];

	server(f, 0, SERVER_ACTIVE);
	server(f, 0, SERVER_ACTIVE);
	waiter(f, 0, NOW - 1);
	waiter(f, 1, NOW - USEC);
	assert_true(takes_away(f, 0, NOW));
	p->failing = true;
	p->last_launch = NOW;
	assert_false(takes_away(f, 0, NOW));
	assert_int_equal(p->place[LIMIT_DB].at, 0);
	/* it may try again, but only where there is room */
	p->last_launch = NOW - 15 * USEC;
	limit_join(p);
	assert_false(takes_away(f, 0, NOW));
	assert_ptr_equal(heir(f, 0, NOW), p);
	p->failing = false;
	limit_join(p);
	assert_true(takes_away(f, 0, NOW));
	f->catalog.paused = true;
	assert_false(takes_away(f, 0, NOW));
	f->catalog.paused = false;
	limit_join(p);
	p->limits.size = 1;
	server(f, 1, SERVER_ACTIVE);
	assert_false(takes_away(f, 0, NOW));
}

static void test_another_limit_that_is_full_passes_the_turn(void **state)
{
	struct fixture *f = *state;

	f->pool[3].limits.max_db = 1;
	f->pool[0].limits.max_user = f->pool[3].limits.max_user = 1;
	f->pool[0].limits.max_db = f->pool[1].limits.max_db = 1;
	f->pool[2].limits.max_db = 1;
	server(f, 1, SERVER_ACTIVE);
	struct pool_server *busy = server(f, 3, SERVER_ACTIVE);

	waiter(f, 0, NOW - 3 * USEC);
	waiter(f, 2, NOW - 2 * USEC);
	waiter(f, 1, NOW - USEC);
	assert_ptr_equal(heir(f, 1, NOW), &f->pool[2]);
	/* there it could evict one */
	pool_server_set(busy, SERVER_IDLE);
	limit_join(&f->pool[0]);
	assert_ptr_equal(heir(f, 1, NOW), &f->pool[0]);
}

static void test_recently_used_servers_are_left_for_a_while(void **state)
{
	struct fixture *f = *state;
	struct pool_server *victim, *idle = server(f, 1, SERVER_IDLE);
	struct pool *p = &f->pool[0];

	struct pool_server *busy = server(f, 0, SERVER_ACTIVE);

	waiter(f, 0, NOW);
	/* a server of its own pool may be free any moment */
	assert_int_equal(limit_check(p, NOW, &victim), LIMIT_FULL);
	assert_int_equal(limit_check(p, NOW + DELAY - 1, &victim), LIMIT_FULL);
	assert_int_equal(limit_check(p, NOW + DELAY, &victim), LIMIT_EVICT);
	assert_ptr_equal(victim, idle);
	idle->used = NOW - DELAY;
	assert_int_equal(limit_check(p, NOW, &victim), LIMIT_EVICT);
	idle->used = NOW;
	pool_server_set(busy, SERVER_GONE);
	server(f, 1, SERVER_ACTIVE);
	assert_int_equal(limit_check(p, NOW, &victim), LIMIT_EVICT);
}

static void used(struct pool_server *ps, usec_t when)
{
	const enum server_state state = (enum server_state)ps->state;

	pool_server_set(ps, SERVER_ACTIVE);
	ps->used = when;
	pool_server_set(ps, state);
}

static void test_the_longest_unused_of_all_pools_makes_room(void **state)
{
	struct fixture *f = *state;
	struct pool_server *a = server(f, 1, SERVER_IDLE),
	    *b = server(f, 2, SERVER_USED), *c = server(f, 1, SERVER_IDLE);
	const struct pool *p = &f->pool[0];

	server(f, 3, SERVER_IDLE);	/* of another database */
	used(b, NOW - 3);
	used(a, NOW - 1);
	used(c, NOW - 2);
	assert_ptr_equal(evict_oldest(p, LIMIT_DB), b);
	/* its own pool wants it checked, and then given to this one */
	pool_server_set(b, SERVER_TESTED);
	struct pool_client *pc = waiter(f, 2, NOW);

	assert_ptr_equal(evict_oldest(p, LIMIT_DB), c);
	pool_client_set(pc, CLIENT_ACTIVE);
	assert_ptr_equal(evict_oldest(p, LIMIT_DB), b);
	pool_server_set(b, SERVER_GONE);
	/* that was a notification */
	c->used = NOW;
	assert_ptr_equal(evict_oldest(p, LIMIT_DB), a);
	pool_server_set(a, SERVER_ACTIVE);
	assert_ptr_equal(evict_oldest(p, LIMIT_DB), c);
	pool_server_set(c, SERVER_BEING_CANCELED);
	assert_null(evict_oldest(p, LIMIT_DB));
}

static void test_limit_that_comes_finds_the_spare_servers(void **state)
{
	struct fixture *f = *state;
	struct pool *p = &f->pool[0];

	p->limits.max_db = 0;
	struct pool_server *ps = server(f, 0, SERVER_IDLE);

	assert_null(evict_oldest(p, LIMIT_DB));
	p->limits.max_user = 3;
	evict_update(ps);
	assert_null(evict_oldest(p, LIMIT_DB));
	assert_ptr_equal(evict_oldest(p, LIMIT_USER), ps);
	p->limits.max_user = 0;
	evict_update(ps);
	assert_null(evict_oldest(p, LIMIT_USER));
}

/* Against a plain search. */
static void test_spare_servers_are_in_order(void **state)
{
	static const enum server_state states[] = { SERVER_IDLE, SERVER_USED,
		SERVER_TESTED, SERVER_ACTIVE, SERVER_BEING_CANCELED };
	struct fixture *f = *state;

	srand(5);
	for (int i = 0; i < 32; i++)
		server(f, (unsigned)i % POOLS, SERVER_IDLE);
	for (int step = 0; step < 5000; step++) {
		struct pool_server *const ps = &f->s[rand() % 32];
		const struct pool_server *best = NULL;

		ps->used = rand() % 4 == 0 ? NOW + rand() % (step + 1) :
		    NOW + step;
		pool_server_set(ps, states[rand() % 5]);
		for (int i = 0; i < 32; i++) {
			if (evict_is_candidate((enum server_state)f->s[i].state) &&
			    (best == NULL || f->s[i].used < best->used))
				best = &f->s[i];
		}
		const struct pool_server *const found = evict_oldest(
		    &f->pool[0], LIMIT_DB);

		assert_int_equal(found == NULL ? 0 : found->used,
		    best == NULL ? 0 : best->used);
	}
}

/* Many pools in random order, against a plain search. */
static void test_line_is_in_order(void **state)
{
	static struct pool pools[40];
	static struct pool_client clients[40];
	struct limit_queue line = { .kind = LIMIT_DB };

	(void)state;
	srand(7);
	memset(pools, 0, sizeof pools);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(limit_queue_enroll(&line), 0);
		clients[i] = (struct pool_client){ .pool = &pools[i],
			.wait_since = 1 + rand() % 1000 };
		pool_client_set(&clients[i], CLIENT_WAITING);
	}
	for (int turn = 0; turn < 3000; turn++) {
		const struct pool *best = NULL;
		const int i = rand() % 40;

		if (rand() % 3 == 0)
			limit_queue_remove(&line, &pools[i]);
		else
			limit_queue_add(&line, &pools[i]);
		clients[rand() % 40].wait_since += rand() % 50;
		for (int k = 0; k < 40; k++)
			if (pools[k].place[LIMIT_DB].at != 0 && (best == NULL ||
			    clients[k].wait_since <
			    pool_waiting_since(best)))
				best = &pools[k];
		const struct pool *first = limit_queue_first(&line);

		assert_int_equal(best == NULL, first == NULL);
		if (best != NULL)
			assert_int_equal(pool_waiting_since(first),
			    pool_waiting_since(best));
	}
	for (int i = 0; i < 40; i++)
		pool_client_set(&clients[i], CLIENT_ACTIVE);
	assert_null(limit_queue_first(&line));
	assert_int_equal(line.count, 0);
	for (int i = 0; i < 40; i++)
		limit_queue_dismiss(&line, &pools[i]);
	limit_queue_fini(&line);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

struct evict_fixture {
	struct config_db conf;
	struct database db;
	struct user user;
	struct pool pool[2];
	struct pool_server s[8];
	struct pool_client c;
	unsigned servers;
};

static int evict_setup(void **state)
{
	static struct evict_fixture f;

	memset(&f, 0, sizeof f);
	f.db.conf = &f.conf;
	for (int i = 0; i < 2; i++) {
		f.pool[i].key.db = &f.db;
		f.pool[i].key.user = &f.user;
		f.pool[i].limits = (struct pool_limits){ .size = 5,
			.max_db = 4 };
	}
	*state = &f;
	return 0;
}

static struct pool_server *evict_server(struct evict_fixture *f, unsigned pool,
    enum server_state state, usec_t used)
{
	struct pool_server *ps = &f->s[f->servers++];

	*ps = (struct pool_server){ .pool = &f->pool[pool],
		.state = SERVER_GONE, .born = NOW, .used = used };
	pool_server_set(ps, state);
	evict_update(ps);
	return ps;
}

static void test_oldest_of_all_pools_goes(void **state)
{
	struct evict_fixture *f = *state;

	assert_null(evict_oldest(&f->pool[0], LIMIT_DB));
	evict_server(f, 0, SERVER_IDLE, NOW + 3);
	struct pool_server *const old = evict_server(f, 1, SERVER_IDLE, NOW + 1);
	evict_server(f, 0, SERVER_IDLE, NOW + 2);
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), old);
	assert_ptr_equal(evict_oldest(&f->pool[1], LIMIT_DB), old);
	/* nothing limits the user */
	assert_null(evict_oldest(&f->pool[0], LIMIT_USER));
}

static void test_server_that_got_a_client_stays(void **state)
{
	struct evict_fixture *f = *state;
	struct pool_server *const old = evict_server(f, 0, SERVER_IDLE, NOW);
	struct pool_server *const next = evict_server(f, 0, SERVER_USED, NOW + 1);

	evict_server(f, 0, SERVER_ACTIVE, NOW - 1);
	pool_server_set(old, SERVER_ACTIVE);
	evict_update(old);
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), next);
	pool_server_set(next, SERVER_GONE);
	evict_update(next);
	assert_null(evict_oldest(&f->pool[0], LIMIT_DB));
}

static void test_use_without_a_client_is_noticed_late(void **state)
{
	struct evict_fixture *f = *state;
	struct pool_server *const a = evict_server(f, 0, SERVER_IDLE, NOW);
	struct pool_server *const b = evict_server(f, 0, SERVER_IDLE, NOW + 1);

	/* as with a notification */
	a->used = NOW + 2;
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), b);
	b->used = NOW + 3;
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), a);
}

static void test_server_under_test_is_for_its_waiters(void **state)
{
	struct evict_fixture *f = *state;
	struct pool_server *const tested = evict_server(f, 0, SERVER_TESTED, NOW);
	struct pool_server *const idle = evict_server(f, 1, SERVER_IDLE, NOW + 1);

	assert_ptr_equal(evict_oldest(&f->pool[1], LIMIT_DB), tested);
	f->c = (struct pool_client){ .pool = &f->pool[0], .wait_since = NOW };
	pool_client_set(&f->c, CLIENT_WAITING);
	assert_ptr_equal(evict_oldest(&f->pool[1], LIMIT_DB), idle);
}

static void test_limit_that_goes_takes_its_list_along(void **state)
{
	struct evict_fixture *f = *state;
	struct pool_server *const ps = evict_server(f, 0, SERVER_IDLE, NOW);

	assert_true(evict_is_limited(&f->pool[0]));
	f->pool[0].limits.max_db = 0;
	f->pool[0].limits.max_user = 4;
	evict_update(ps);
	assert_null(evict_oldest(&f->pool[0], LIMIT_DB));
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_USER), ps);
	f->pool[0].limits.max_user = 0;
	evict_update(ps);
	assert_false(evict_is_limited(&f->pool[0]));
	assert_null(evict_oldest(&f->pool[0], LIMIT_USER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_slot_is_for_who_waits_longest),
		CASE(test_lowered_limit_takes_what_is_given_back),
		CASE(test_slot_is_not_for_who_has_no_host_to_go_to),
		CASE(test_below_the_limit_nobody_looks_at_others),
		CASE(test_server_is_taken_away_for_a_long_wait_only),
		CASE(test_own_client_that_waits_longer_keeps_the_server),
		CASE(test_a_server_on_its_way_is_enough),
		CASE(test_who_cannot_open_one_does_not_count),
		CASE(test_another_limit_that_is_full_passes_the_turn),
		CASE(test_recently_used_servers_are_left_for_a_while),
		CASE(test_the_longest_unused_of_all_pools_makes_room),
		CASE(test_limit_that_comes_finds_the_spare_servers),
		CASE(test_spare_servers_are_in_order),
		cmocka_unit_test(test_line_is_in_order),
		cmocka_unit_test_setup(test_oldest_of_all_pools_goes, evict_setup),
		cmocka_unit_test_setup(test_server_that_got_a_client_stays,
		    evict_setup),
		cmocka_unit_test_setup(
		    test_use_without_a_client_is_noticed_late, evict_setup),
		cmocka_unit_test_setup(
		    test_server_under_test_is_for_its_waiters, evict_setup),
		cmocka_unit_test_setup(
		    test_limit_that_goes_takes_its_list_along, evict_setup),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
