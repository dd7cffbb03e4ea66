/* test_idle_effective.c - which of several settings counts.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/idle.h"
#include "pool/catalog.h"

static struct config_user own;
static const struct user plain = { .conf = NULL };
static const struct user special = { .conf = &own };
static struct config_db line;
static const struct database db = { .conf = &line };

static int setup(void **state)
{
	(void)state;
	own = (struct config_user){ .query_wait_timeout = CONFIG_UNSET };
	line = (struct config_db){ .query_wait_timeout = CONFIG_UNSET };
	return 0;
}

static void test_idle_limit_of_a_user_beats_the_global_one(void **state)
{
	const struct settings set = { .client_idle_timeout = 5 };

	(void)state;
	own.client_idle_timeout = 9;
	assert_int_equal(effective_client_idle(&set, &special), 9);
	assert_int_equal(effective_client_idle(&set, &plain), 5);
	assert_int_equal(effective_client_idle(&set, NULL), 5);
}

static void test_idle_limit_zero_of_a_user_means_global(void **state)
{
	const struct settings set = { .client_idle_timeout = 5 };

	(void)state;
	assert_int_equal(effective_client_idle(&set, &special), 5);
}

static void test_wait_limit_user_then_database_then_global(void **state)
{
	const struct settings set = { .query_wait_timeout = 1 };

	(void)state;
	assert_int_equal(effective_query_wait(&set, &special, &db), 1);
	line.query_wait_timeout = 2;
	assert_int_equal(effective_query_wait(&set, &special, &db), 2);
	own.query_wait_timeout = 3;
	assert_int_equal(effective_query_wait(&set, &special, &db), 3);
	assert_int_equal(effective_query_wait(&set, &plain, NULL), 1);
}

static void test_wait_limit_zero_switches_off(void **state)
{
	const struct settings set = { .query_wait_timeout = 1 };

	(void)state;
	line.query_wait_timeout = 0;
	assert_int_equal(effective_query_wait(&set, &plain, &db), 0);
	line.query_wait_timeout = 2;
	own.query_wait_timeout = 0;
	assert_int_equal(effective_query_wait(&set, &special, &db), 0);
}

static void test_work_limits_each_fall_back(void **state)
{
	const struct settings set = { .query_timeout = 1,
	    .idle_transaction_timeout = 2, .transaction_timeout = 3 };
	struct effective_work w = effective_work(&set, &plain);

	(void)state;
	assert_int_equal(w.query, 1);
	assert_int_equal(w.idle_transaction, 2);
	assert_int_equal(w.transaction, 3);
	own.transaction_timeout = 7;
	w = effective_work(&set, &special);
	assert_int_equal(w.query, 1);
	assert_int_equal(w.idle_transaction, 2);
	assert_int_equal(w.transaction, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
		    test_idle_limit_of_a_user_beats_the_global_one, setup),
		cmocka_unit_test_setup(
		    test_idle_limit_zero_of_a_user_means_global, setup),
		cmocka_unit_test_setup(
		    test_wait_limit_user_then_database_then_global, setup),
		cmocka_unit_test_setup(test_wait_limit_zero_switches_off,
		    setup),
		cmocka_unit_test_setup(test_work_limits_each_fall_back,
		    setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
