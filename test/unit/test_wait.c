/* test_wait.c - why clients wait: each reason, and what it is told by.
 * SPDX-License-Identifier: ISC */
#include "pool/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "pool/catalog.h"
#include "pool/pool.h"

struct stage {
	struct config_db conf;
	struct database db;
	struct user user;
	struct pool pool;
	struct catalog catalog;
	struct pool_server s[12];
	struct pool_client c[12];
	unsigned servers, clients;
	struct welcome welcome;		/* at the end: its size varies */
};

static struct stage st;

#define NOW (1000 * USEC)

static int set_up(void **state)
{
	static char shop[] = "shop", ann[] = "ann";

	(void)state;
	memset(&st, 0, sizeof st);
	st.db.conf = &st.conf;
	st.db.name = shop;
	st.user.name = ann;
	st.pool.key.db = &st.db;
	st.pool.key.user = &st.user;
	st.pool.welcome = &st.welcome;
	st.pool.limits = (struct pool_limits){ .size = 3,
		.login_concurrency = 4 };
	return 0;
}

static struct pool_server *server(enum server_state state)
{
	struct pool_server *const ps = &st.s[st.servers++];

	*ps = (struct pool_server){ .pool = &st.pool, .state = SERVER_GONE };
	pool_server_set(ps, state);
	return ps;
}

static void wait_in(enum client_state state, unsigned n)
{
	while (n-- > 0) {
		struct pool_client *const pc = &st.c[st.clients++];

		*pc = (struct pool_client){ .pool = &st.pool };
		pool_client_set(pc, state);
	}
}

static const char *why(enum client_state state)
{
	return wait_name(wait_reason(&st.pool, state, &st.catalog, NOW));
}

static void test_who_does_not_wait_has_no_reason(void **state)
{
	(void)state;
	wait_in(CLIENT_ACTIVE, 1);
	assert_null(why(CLIENT_ACTIVE));
	assert_null(why(CLIENT_CANCEL_WAITING));
	assert_null(wait_setting(WAIT_NONE));
}

static void test_pause_comes_before_all_else(void **state)
{
	(void)state;
	wait_in(CLIENT_WAITING, 1);
	for (int i = 0; i < 3; i++)
		server(SERVER_ACTIVE);
	st.db.paused = true;
	assert_string_equal(why(CLIENT_WAITING), "paused");
	st.db.paused = false;
	st.catalog.paused = true;
	assert_string_equal(why(CLIENT_WAITING), "paused");
	assert_string_equal(why(CLIENT_WELCOME), "paused");
	assert_string_equal(why(CLIENT_DEDICATED_WAITING), "paused");
}

static void test_pool_that_is_full(void **state)
{
	(void)state;
	wait_in(CLIENT_WAITING, 2);
	server(SERVER_ACTIVE);
	server(SERVER_ACTIVE);
	/* there is room: one is launched */
	assert_string_equal(why(CLIENT_WAITING), "server_login");
	server(SERVER_LOGIN);
	/* for the first, but not for the last */
	assert_string_equal(why(CLIENT_WAITING), "pool_size");
	st.pool.pinned = 2;
	assert_string_equal(why(CLIENT_WAITING), "pool_size");
	st.pool.pinned = 3;
	assert_string_equal(why(CLIENT_WAITING), "pinned");
	st.pool.pinned = 0;
	wait_in(CLIENT_DEDICATED_WAITING, 1);
	assert_string_equal(why(CLIENT_DEDICATED_WAITING), "pool_size");
	st.pool.limits.size = 0;
	assert_string_equal(why(CLIENT_WAITING), "server_login");
}

/* More clients than the pool may have servers, and no server answers. */
static void test_full_of_servers_that_log_in(void **state)
{
	(void)state;
	wait_in(CLIENT_WAITING, 5);
	for (int i = 0; i < 3; i++)
		server(SERVER_LOGIN);
	assert_string_equal(why(CLIENT_WAITING), "server_login");
	st.pool.failing = true;
	assert_string_equal(why(CLIENT_WAITING), "server_login_failed");
	pool_server_set(&st.s[0], SERVER_ACTIVE);
	assert_string_equal(why(CLIENT_WAITING), "pool_size");
}

static void test_limits_of_database_and_user(void **state)
{
	(void)state;
	wait_in(CLIENT_WAITING, 1);
	server(SERVER_ACTIVE);
	st.pool.limits.max_user = 1;
	assert_string_equal(why(CLIENT_WAITING), "max_user_connections");
	st.pool.limits.max_db = 1;
	assert_string_equal(why(CLIENT_WAITING), "max_db_connections");
	st.pool.limits.max_db = 2;
	st.pool.limits.max_user = 2;
	assert_string_equal(why(CLIENT_WAITING), "server_login");
}

static void test_password_that_is_fetched_is_what_clients_wait_for(
    void **state)
{
	(void)state;
	wait_in(CLIENT_WAITING, 1);
	server(SERVER_LOGIN);
	st.pool.failing = true;
	st.pool.password_waits = 1;
	assert_string_equal(why(CLIENT_WAITING), "password");
	st.pool.password_waits = 0;
	assert_string_equal(why(CLIENT_WAITING), "server_login_failed");
}

static void test_servers_on_their_way(void **state)
{
	(void)state;
	wait_in(CLIENT_WAITING, 1);
	struct pool_server *const login = server(SERVER_LOGIN);

	assert_string_equal(why(CLIENT_WAITING), "server_login");
	st.pool.failing = true;
	assert_string_equal(why(CLIENT_WAITING), "server_login_failed");
	pool_server_set(login, SERVER_GONE);
	assert_string_equal(why(CLIENT_WAITING), "server_login_failed");
	server(SERVER_TESTED);
	assert_string_equal(why(CLIENT_WAITING), "server_check");
}

static void test_those_without_a_welcome(void **state)
{
	(void)state;
	st.pool.welcome = NULL;
	wait_in(CLIENT_WELCOME, 1);
	assert_string_equal(why(CLIENT_WELCOME), "server_login");
	st.pool.failing = true;
	assert_string_equal(why(CLIENT_WELCOME), "server_login_failed");
	st.pool.limits.attrs = ATTRS_PRIMARY;
	assert_string_equal(why(CLIENT_WELCOME), "no_host");
}

static void test_replication_clients(void **state)
{
	(void)state;
	wait_in(CLIENT_DEDICATED_WAITING, 1);
	assert_string_equal(why(CLIENT_DEDICATED_WAITING), "server_login");
	server(SERVER_DEDICATED_LOGIN);
	assert_string_equal(why(CLIENT_DEDICATED_WAITING), "server_login");
	st.pool.failing = true;
	assert_string_equal(why(CLIENT_DEDICATED_WAITING), "server_login_failed");
}

static void test_every_reason_is_explained(void **state)
{
	struct wait_text text;

	(void)state;
	st.pool.limits.max_db = 7;
	pool_fail(&st.pool, "no way", NULL);
	for (int i = WAIT_NONE + 1; i < WAIT_REASONS; i++) {
		wait_explain(&st.pool, (enum wait_reason)i, &text);
		assert_non_null(wait_name((enum wait_reason)i));
		assert_non_null(wait_setting((enum wait_reason)i));
		assert_true(strlen(text.detail) > 10);
		assert_true(strlen(text.hint) > 10);
		assert_int_equal(text.detail[strlen(text.detail) - 1],
		    i == WAIT_LOGIN_FAILED || i == WAIT_HOST ? 'y' : '.');
	}
	wait_explain(&st.pool, WAIT_POOL_SIZE, &text);
	assert_string_equal(text.detail, "All 3 server connections of user "
	    "\"ann\" to database \"shop\" are in use.");
	wait_explain(&st.pool, WAIT_MAX_DB, &text);
	assert_string_equal(text.detail, "All 7 server connections of "
	    "database \"shop\" are in use.");
	/* the limit was lowered */
	st.pool.key.db->servers = 9;
	wait_explain(&st.pool, WAIT_MAX_DB, &text);
	assert_string_equal(text.detail, "All 7 server connections of "
	    "database \"shop\" are in use, and 2 more until they are given "
	    "back.");
	wait_explain(&st.pool, WAIT_LOGIN_FAILED, &text);
	assert_string_equal(text.detail, "The last connection to database "
	    "\"shop\" failed: no way");
	st.pool.limits.attrs = ATTRS_PREFER_STANDBY;
	wait_explain(&st.pool, WAIT_HOST, &text);
	assert_string_equal(text.detail, "No host of database \"shop\" meets "
	    "target_session_attrs = prefer-standby: no way");
	wait_explain(&st.pool, WAIT_NONE, &text);
	assert_string_equal(text.detail, "");
	assert_string_equal(text.hint, "");
	pool_worked(&st.pool);
}

#define STAGED(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(test_who_does_not_wait_has_no_reason),
		STAGED(test_pause_comes_before_all_else),
		STAGED(test_pool_that_is_full),
		STAGED(test_full_of_servers_that_log_in),
		STAGED(test_limits_of_database_and_user),
		STAGED(
		    test_password_that_is_fetched_is_what_clients_wait_for),
		STAGED(test_servers_on_their_way),
		STAGED(test_those_without_a_welcome),
		STAGED(test_replication_clients),
		STAGED(test_every_reason_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
