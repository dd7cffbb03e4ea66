/* test_evict.c - which idle server makes room under a limit.
 * SPDX-License-Identifier: ISC */
#include "pool/evict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool/catalog.h"

#define NOW (1000 * USEC)

struct fixture {
	struct config_db conf;
	struct database db;
	struct user user;
	struct pool pool[2];
	struct pool_server s[8];
	struct pool_client c;
	unsigned servers;
};

static int setup(void **state)
{
	static struct fixture f;

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

static struct pool_server *server(struct fixture *f, unsigned pool,
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
	struct fixture *f = *state;

	assert_null(evict_oldest(&f->pool[0], LIMIT_DB));
	server(f, 0, SERVER_IDLE, NOW + 3);
	struct pool_server *const old = server(f, 1, SERVER_IDLE, NOW + 1);
	server(f, 0, SERVER_IDLE, NOW + 2);
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), old);
	assert_ptr_equal(evict_oldest(&f->pool[1], LIMIT_DB), old);
	/* nothing limits the user */
	assert_null(evict_oldest(&f->pool[0], LIMIT_USER));
}

static void test_server_that_got_a_client_stays(void **state)
{
	struct fixture *f = *state;
	struct pool_server *const old = server(f, 0, SERVER_IDLE, NOW);
	struct pool_server *const next = server(f, 0, SERVER_USED, NOW + 1);

	server(f, 0, SERVER_ACTIVE, NOW - 1);
	pool_server_set(old, SERVER_ACTIVE);
	evict_update(old);
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), next);
	pool_server_set(next, SERVER_GONE);
	evict_update(next);
	assert_null(evict_oldest(&f->pool[0], LIMIT_DB));
}

static void test_use_without_a_client_is_noticed_late(void **state)
{
	struct fixture *f = *state;
	struct pool_server *const a = server(f, 0, SERVER_IDLE, NOW);
	struct pool_server *const b = server(f, 0, SERVER_IDLE, NOW + 1);

	/* as with a notification */
	a->used = NOW + 2;
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), b);
	b->used = NOW + 3;
	assert_ptr_equal(evict_oldest(&f->pool[0], LIMIT_DB), a);
}

static void test_server_under_test_is_for_its_waiters(void **state)
{
	struct fixture *f = *state;
	struct pool_server *const tested = server(f, 0, SERVER_TESTED, NOW);
	struct pool_server *const idle = server(f, 1, SERVER_IDLE, NOW + 1);

	assert_ptr_equal(evict_oldest(&f->pool[1], LIMIT_DB), tested);
	f->c = (struct pool_client){ .pool = &f->pool[0], .wait_since = NOW };
	pool_client_set(&f->c, CLIENT_WAITING);
	assert_ptr_equal(evict_oldest(&f->pool[1], LIMIT_DB), idle);
}

static void test_limit_that_goes_takes_its_list_along(void **state)
{
	struct fixture *f = *state;
	struct pool_server *const ps = server(f, 0, SERVER_IDLE, NOW);

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
		cmocka_unit_test_setup(test_oldest_of_all_pools_goes, setup),
		cmocka_unit_test_setup(test_server_that_got_a_client_stays,
		    setup),
		cmocka_unit_test_setup(
		    test_use_without_a_client_is_noticed_late, setup),
		cmocka_unit_test_setup(
		    test_server_under_test_is_for_its_waiters, setup),
		cmocka_unit_test_setup(
		    test_limit_that_goes_takes_its_list_along, setup),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
