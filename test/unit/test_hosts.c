/* test_hosts.c - to which host of a list the next connection goes.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pool/catalog.h"
#include "pool/drain.h"
#include "pool/hosts.h"

struct fixture {
	char host[512];
	struct config_db conf;
	struct database db;
	struct pool pool;
};

static char unix_dir[] = "/run/pg";
static struct config config = { .set.unix_socket_dir = unix_dir };
static struct catalog catalog = { .config = &config };

#define NOW (1000 * USEC)

static struct pool *pool_of(struct fixture *f, const char *host)
{
	memset(f, 0, sizeof *f);
	memcpy(f->host, host, strlen(host) + 1);
	f->conf.host = f->host;
	f->conf.port = 5433;
	f->conf.load_balance_hosts = LB_ROUND_ROBIN;
	f->db.conf = &f->conf;
	f->pool.key.db = &f->db;
	f->pool.limits.login_retry = 15 * USEC;
	return &f->pool;
}

/* The plan for the next connection as "a b /c/.s.PGSQL.5433". */
static void plan(struct pool *p, usec_t now, const char *want)
{
	struct host *h = NULL;
	char text[1024] = "";
	const int count = hosts_plan(p, &catalog, now, &h);

	for (int i = 0; i < count; i++) {
		const size_t len = strlen(text);

		snprintf(text + len, sizeof text - len, "%s%s",
		    i > 0 ? " " : "", h[i].text);
		assert_int_equal(h[i].addr.port, 5433);
	}
	mem_free(h);
	assert_string_equal(text, want);
}

static struct host first(struct pool *p)
{
	struct host *h = NULL;

	assert_true(hosts_plan(p, &catalog, NOW, &h) > 0);
	const struct host it = h[0];

	mem_free(h);
	return it;
}

static void test_kinds(void **state)
{
	struct fixture f;
	struct host h;

	(void)state;
	assert_int_equal(first(pool_of(&f, "db.example")).kind, HOST_NAME);
	h = first(pool_of(&f, "/tmp"));
	assert_int_equal(h.kind, HOST_UNIX);
	assert_string_equal(h.text, "/tmp/.s.PGSQL.5433");
	h = first(pool_of(&f, "@x"));
	assert_int_equal(h.kind, HOST_UNIX);
	assert_string_equal(h.text, "@x/.s.PGSQL.5433");
	h = first(pool_of(&f, "10.0.0.7"));
	assert_int_equal(h.kind, HOST_ADDRESS);
	assert_int_equal(h.addr.family, NET_IPV4);
	assert_int_equal(h.addr.ip[3], 7);
	h = first(pool_of(&f, "::1"));
	assert_int_equal(h.addr.family, NET_IPV6);
	assert_int_equal(h.addr.port, 5433);
}

static void test_no_host_is_the_default_directory(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "");
	struct host *h = NULL;

	(void)state;
	f.conf.host = NULL;
	plan(p, NOW, "/run/pg/.s.PGSQL.5433");
	errno = ENOENT;
	config.set.unix_socket_dir = NULL;
	assert_int_equal(hosts_plan(p, &catalog, NOW, &h), -1);
	assert_int_equal(errno, 0);
	unix_dir[0] = '\0';
	config.set.unix_socket_dir = unix_dir;
	assert_int_equal(hosts_plan(p, &catalog, NOW, &h), -1);
	unix_dir[0] = '/';
	assert_null(h);
	hosts_failed(p, 0, false, NOW);
	assert_false(hosts_left(p, &catalog, NOW));
}

static void test_round_robin_takes_turns(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,/b,c");

	(void)state;
	for (int i = 0; i < 3; i++) {
		plan(p, NOW, "a /b/.s.PGSQL.5433 c");
		plan(p, NOW, "/b/.s.PGSQL.5433 c a");
		plan(p, NOW, "c a /b/.s.PGSQL.5433");
	}
}

static void test_disable_stays_until_failure(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b");

	(void)state;
	f.conf.load_balance_hosts = LB_DISABLE;
	plan(p, NOW, "a b");
	plan(p, NOW, "a b");
	hosts_failed(p, 0, false, NOW);
	plan(p, NOW, "b");
	plan(p, NOW + 15 * USEC, "b a");
	hosts_failed(p, 1, false, NOW + 15 * USEC);
	plan(p, NOW + 15 * USEC, "a");
	hosts_free(p);
}

static void test_disable_returns_to_who_was_slow(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b");

	(void)state;
	f.conf.load_balance_hosts = LB_DISABLE;
	hosts_failed(p, 0, true, NOW);
	plan(p, NOW, "b");
	plan(p, NOW + 15 * USEC, "a b");
	hosts_free(p);
}

static void test_failed_host_is_left_out_for_a_while(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b,c");

	(void)state;
	hosts_failed(p, 1, false, NOW);
	assert_true(hosts_left(p, &catalog, NOW));
	plan(p, NOW, "a c");
	plan(p, NOW, "c a");
	plan(p, NOW, "a c");
	plan(p, NOW + 15 * USEC - 1, "c a");
	plan(p, NOW + 15 * USEC, "a b c");
	hosts_failed(p, 0, true, NOW);
	hosts_worked(p, 0);
	plan(p, NOW + 15 * USEC, "b c a");
	hosts_free(p);
}

static void test_all_are_tried_when_none_is_left(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b");

	(void)state;
	hosts_failed(p, 0, false, NOW);
	hosts_failed(p, 1, false, NOW);
	assert_false(hosts_left(p, &catalog, NOW));
	plan(p, NOW, "a b");
	hosts_free(p);

	/* one is never left, whatever became of it */
	p = pool_of(&f, "a");
	assert_false(hosts_left(p, &catalog, NOW));
	hosts_failed(p, 0, false, NOW);
	assert_false(hosts_left(p, &catalog, NOW + 100 * USEC));
	plan(p, NOW, "a");
	hosts_free(p);
}

static void test_without_retry_others_have_their_turn_first(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b");

	(void)state;
	p->limits.login_retry = 0;
	hosts_failed(p, 0, false, NOW);
	plan(p, NOW, "b");
	hosts_failed(p, 1, false, NOW);
	assert_false(hosts_left(p, &catalog, NOW));
	hosts_free(p);
}

static void test_hosts_that_did_not_fit_come_last(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b,c");

	(void)state;
	p->limits.attrs = ATTRS_PRIMARY;
	p->limits.login_retry = USEC / 2;
	hosts_set_misfit(p, 0, true);
	hosts_failed(p, 0, false, NOW);
	plan(p, NOW, "b c");
	assert_true(hosts_better_left(p, &catalog, NOW));
	/* the next attempt begins half a second after this one did */
	plan(p, NOW + USEC / 4, "c b a");
	hosts_set_misfit(p, 1, true);
	hosts_set_misfit(p, 2, true);
	assert_true(hosts_left(p, &catalog, NOW + USEC));
	assert_false(hosts_better_left(p, &catalog, NOW + USEC));
	hosts_set_misfit(p, 2, false);
	hosts_worked(p, 2);
	plan(p, NOW + USEC, "c a b");
	hosts_free(p);
}

static void test_patience_doubles_till_a_login_is_done(void **state)
{
	struct fixture f;
	struct pool *const p = pool_of(&f, "a,b");

	(void)state;
	assert_int_equal(hosts_patience(p), 0);
	p->limits.attrs = ATTRS_PRIMARY;
	assert_int_equal(hosts_patience(p), USEC);
	hosts_abandon(p, 0);
	assert_int_equal(hosts_patience(p), 2 * USEC);
	hosts_abandon(p, 0);
	assert_int_equal(hosts_patience(p), 4 * USEC);
	plan(p, NOW, "b a");
	for (int i = 0; i < 100; i++)
		hosts_abandon(p, 1);
	assert_in_range(hosts_patience(p), 60 * USEC, 3600 * USEC);
	hosts_worked(p, 1);
	assert_int_equal(hosts_patience(p), USEC);
	hosts_free(p);
	f.host[1] = '\0';
	assert_int_equal(hosts_patience(p), 0);
}

static void test_changed_list_knows_no_failures(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b");

	(void)state;
	hosts_failed(p, 0, false, NOW);
	memcpy(f.host, "c,b,a", 6);
	plan(p, NOW, "c b a");
	assert_false(hosts_left(p, &catalog, NOW));
	hosts_failed(p, 7, false, NOW);		/* of the old list */
	hosts_failed(p, 2, false, NOW);
	plan(p, NOW, "b c");
	hosts_free(p);
}

static void test_long_item_is_cut(void **state)
{
	struct fixture f;
	char name[400];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(strlen(first(pool_of(&f, name)).text), 255);
	name[0] = '/';
	assert_int_equal(strlen(first(pool_of(&f, name)).text), 255);
}

static void test_long_list_is_cut(void **state)
{
	struct fixture f;
	struct host *h = NULL;
	char list[2 * 100] = "a";

	(void)state;
	for (int i = 1; i < 100; i++)
		memcpy(list + 2 * i - 1, ",a", 3);
	assert_int_equal(hosts_plan(pool_of(&f, list), &catalog, NOW, &h),
	    HOSTS_MAX);
	mem_free(h);
}

static void test_drained_hosts_are_left_out(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,127.0.0.1,::1,/b");
	struct host *h = NULL;

	(void)state;
	assert_int_equal(drain_add(&catalog, "::ffff:127.0.0.1"), 0);
	plan(p, NOW, "a ::1 /b/.s.PGSQL.5433");
	assert_int_equal(drain_add(&catalog, "A"), 0);
	assert_int_equal(drain_add(&catalog, "/b"), 0);
	plan(p, NOW, "::1");
	/* what is drained is no host that is left */
	hosts_failed(p, 2, false, NOW);
	assert_false(hosts_left(p, &catalog, NOW));
	plan(p, NOW, "::1");
	assert_true(drain_remove(&catalog, "a"));
	assert_true(hosts_left(p, &catalog, NOW));
	plan(p, NOW, "a");
	assert_int_equal(drain_add(&catalog, "a"), 0);
	assert_int_equal(drain_add(&catalog, "0:0:0:0:0:0:0:1"), 0);
	assert_int_equal(hosts_plan(p, &catalog, NOW, &h), 0);
	mem_free(h);
	/* but for cancels to a peer */
	p->peer_id = 1;
	assert_int_equal(hosts_plan(p, &catalog, NOW, &h), 3);
	mem_free(h);
	hosts_free(p);
	assert_true(drain_remove(&catalog, NULL));
}

static void test_no_memory_is_told(void **state)
{
	struct fixture f;
	struct pool *p = pool_of(&f, "a,b");
	struct host *h = NULL;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(hosts_plan(p, &catalog, NOW, &h), -1);
	assert_int_equal(errno, ENOMEM);
	assert_null(h);
	for (unsigned long n = 1; n <= 2; n++) {
		mem_fail_at(n);
		hosts_failed(p, 0, false, NOW);
		mem_fail_at(0);
		assert_null(p->failures);
		assert_false(hosts_left(p, &catalog, NOW));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_no_host_is_the_default_directory),
		cmocka_unit_test(test_round_robin_takes_turns),
		cmocka_unit_test(test_disable_stays_until_failure),
		cmocka_unit_test(test_disable_returns_to_who_was_slow),
		cmocka_unit_test(test_failed_host_is_left_out_for_a_while),
		cmocka_unit_test(test_all_are_tried_when_none_is_left),
		cmocka_unit_test(
		    test_without_retry_others_have_their_turn_first),
		cmocka_unit_test(test_hosts_that_did_not_fit_come_last),
		cmocka_unit_test(
		    test_patience_doubles_till_a_login_is_done),
		cmocka_unit_test(test_changed_list_knows_no_failures),
		cmocka_unit_test(test_long_item_is_cut),
		cmocka_unit_test(test_long_list_is_cut),
		cmocka_unit_test(test_drained_hosts_are_left_out),
		cmocka_unit_test(test_no_memory_is_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
