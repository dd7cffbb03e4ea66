/* test_drain.c - hosts that no new server connection goes to.
 * SPDX-License-Identifier: ISC */
#include "pool/drain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pool/catalog.h"

#define NOW (1000 * USEC)

static struct catalog cat;

static int tear_down(void **state)
{
	(void)state;
	drain_remove(&cat, NULL);
	return 0;
}

/* Is this drained, as a host of a list, or where the name x leads? */
static bool listed(const char *host)
{
	return drain_has(&cat, host, NULL);
}

static bool leads_to(const char *ip)
{
	struct net_addr a;

	assert_int_equal(net_parse_ip(ip, 5432, &a), 0);
	return drain_has(&cat, "x", &a);
}

static void test_name_is_compared_without_case(void **state)
{
	(void)state;
	assert_false(listed("db.example"));
	assert_int_equal(drain_add(&cat, "DB.example"), 0);
	assert_int_equal(drain_add(&cat, "db.EXAMPLE"), 0);
	assert_true(listed("db.example"));
	assert_false(listed("db.example.org"));
	assert_true(drain_remove(&cat, "db.Example"));
	assert_false(drain_remove(&cat, "db.example"));
	assert_null(cat.drained);
}

static void test_folder_has_all_sockets_in_it(void **state)
{
	(void)state;
	assert_int_equal(drain_add(&cat, "/run/pg"), 0);
	assert_true(listed("/run/pg/.s.PGSQL.5432"));
	assert_false(listed("/run/pg2/.s.PGSQL.5432"));
}

static void test_address_is_the_same_however_it_is_written(void **state)
{
	static const char *const same[][3] = {
		{ "127.0.0.1", "::ffff:127.0.0.1", "0:0:0:0:0:FFFF:7f00:1" },
		{ "::1", "0:0:0:0:0:0:0:1", "0000::0001" },
		{ "FE80::a", "fe80:0::A", "fe80::0a" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 9; k++) {
			assert_int_equal(drain_add(&cat, same[i][k % 3]), 0);
			assert_null(cat.drained->next);
			assert_true(leads_to(same[i][k / 3]));
			assert_false(leads_to("127.0.0.2"));
			assert_false(leads_to("::2"));
			assert_false(listed("x"));
			assert_true(drain_remove(&cat, same[i][k / 3]));
		}
	}
}

static void test_pool_stops_when_all_of_its_list_are_drained(void **state)
{
	char list[] = "a,0:0::1,/b";
	struct config_db conf = { .host = list };
	struct database db = { .conf = &conf };
	struct pool p = { .key.db = &db };

	(void)state;
	assert_int_equal(drain_add(&cat, "A"), 0);
	assert_int_equal(drain_add(&cat, "/b"), 0);
	assert_false(drain_stops(&cat, &p, NOW));
	assert_int_equal(drain_add(&cat, "::1"), 0);
	assert_true(drain_stops(&cat, &p, NOW));
	conf.host = NULL;
	assert_false(drain_stops(&cat, &p, NOW));
}

static void test_pool_whose_names_lead_there_looks_again(void **state)
{
	char list[] = "x";
	struct config_db conf = { .host = list };
	struct database db = { .conf = &conf };
	struct pool p = { .key.db = &db, .limits.login_retry = 15 * USEC };

	(void)state;
	p.drained_at = NOW;
	assert_false(drain_stops(&cat, &p, NOW));
	assert_int_equal(drain_add(&cat, "::1"), 0);
	assert_int_equal(drain_add(&cat, "::2"), 0);
	assert_true(drain_stops(&cat, &p, NOW + 15 * USEC - 1));
	assert_false(drain_stops(&cat, &p, NOW + 15 * USEC));
	p.limits.login_retry = 0;
	assert_true(drain_stops(&cat, &p, NOW));
	assert_false(drain_stops(&cat, &p, NOW + USEC));
	/* at once when a host comes back */
	HASH_ADD(hh, cat.pools, key, sizeof p.key, &p);
	assert_false(drain_remove(&cat, "::3"));
	assert_true(drain_stops(&cat, &p, NOW));
	assert_true(drain_remove(&cat, "::1"));
	assert_false(drain_stops(&cat, &p, NOW));
	HASH_DEL(cat.pools, &p);
}

static void test_no_more_than_may_be(void **state)
{
	char host[16];

	(void)state;
	mem_fail_at(1);
	assert_int_equal(drain_add(&cat, "x"), -1);
	mem_fail_at(0);
	for (int i = 0; i < DRAIN_MAX; i++) {
		snprintf(host, sizeof host, "h%d", i);
		assert_int_equal(drain_add(&cat, host), 0);
	}
	assert_int_equal(drain_add(&cat, "x"), -1);
	assert_int_equal(drain_add(&cat, "h7"), 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_name_is_compared_without_case),
		TEST(test_folder_has_all_sockets_in_it),
		TEST(test_address_is_the_same_however_it_is_written),
		TEST(test_pool_stops_when_all_of_its_list_are_drained),
		TEST(test_pool_whose_names_lead_there_looks_again),
		TEST(test_no_more_than_may_be),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
