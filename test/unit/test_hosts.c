/* test_hosts.c - which host of a list is next.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool/catalog.h"
#include "pool/hosts.h"

struct fixture {
	char host[512];
	struct config_db conf;
	struct database db;
	struct pool pool;
};

static struct pool *pool_of(struct fixture *f, const char *host)
{
	memset(f, 0, sizeof *f);
	memcpy(f->host, host, strlen(host) + 1);
	f->conf.host = f->host;
	f->conf.port = 5433;
	f->conf.load_balance_hosts = LB_ROUND_ROBIN;
	f->db.conf = &f->conf;
	f->pool.key.db = &f->db;
	return &f->pool;
}

static void next(struct pool *p, enum host_kind kind, const char *text)
{
	struct host h;

	assert_int_equal(hosts_next(p, "/run/pg", &h), 0);
	assert_int_equal(h.kind, kind);
	assert_string_equal(h.text, text);
	assert_int_equal(h.addr.port, 5433);
}

static void test_kinds(void **state)
{
	struct fixture f;
	struct host h;

	(void)state;
	next(pool_of(&f, "db.example"), HOST_NAME, "db.example");
	next(pool_of(&f, "/tmp"), HOST_UNIX, "/tmp/.s.PGSQL.5433");
	next(pool_of(&f, "@x"), HOST_UNIX, "@x/.s.PGSQL.5433");
	assert_int_equal(hosts_next(pool_of(&f, "10.0.0.7"), NULL, &h), 0);
	assert_int_equal(h.kind, HOST_ADDRESS);
	assert_int_equal(h.addr.family, NET_IPV4);
	assert_int_equal(h.addr.ip[3], 7);
	assert_int_equal(hosts_next(pool_of(&f, "::1"), NULL, &h), 0);
	assert_int_equal(h.addr.family, NET_IPV6);
	assert_int_equal(h.addr.port, 5433);
}

static void test_no_host_is_the_default_directory(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "");
	struct host h;

	(void)state;
	f.conf.host = NULL;
	next(p, HOST_UNIX, "/run/pg/.s.PGSQL.5433");
	assert_int_equal(hosts_next(p, NULL, &h), -1);
	assert_int_equal(hosts_next(p, "", &h), -1);
}

static void test_round_robin_takes_turns(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,/b,c");

	(void)state;
	for (int i = 0; i < 3; i++) {
		next(p, HOST_NAME, "a");
		next(p, HOST_UNIX, "/b/.s.PGSQL.5433");
		hosts_failed(p);	/* makes no difference */
		next(p, HOST_NAME, "c");
	}
}

static void test_disable_stays_until_failure(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b");

	(void)state;
	f.conf.load_balance_hosts = LB_DISABLE;
	next(p, HOST_NAME, "a");
	next(p, HOST_NAME, "a");
	hosts_failed(p);
	next(p, HOST_NAME, "b");
	next(p, HOST_NAME, "b");
	hosts_failed(p);
	next(p, HOST_NAME, "a");
}

static void test_long_item_is_cut(void **state)
{
	struct fixture f;
	struct host h;
	char name[400];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(hosts_next(pool_of(&f, name), NULL, &h), 0);
	assert_int_equal(strlen(h.text), sizeof h.text - 1);
	name[0] = '/';
	assert_int_equal(hosts_next(pool_of(&f, name), NULL, &h), 0);
	assert_int_equal(strlen(h.text), sizeof h.text - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_no_host_is_the_default_directory),
		cmocka_unit_test(test_round_robin_takes_turns),
		cmocka_unit_test(test_disable_stays_until_failure),
		cmocka_unit_test(test_long_item_is_cut),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
