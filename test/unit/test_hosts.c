/* test_hosts.c - to which host of a list the next connection goes.
 * SPDX-License-Identifier: ISC */
#include "base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

#define NO FACT_NO
#define YES FACT_YES
#define UNKNOWN FACT_UNKNOWN

/* What each of target_session_attrs says: fits, does not, or '?'. */
static const struct {
	enum fact standby, read_only;
	const char *want;	/* any, rw, ro, primary, standby, prefer */
} cases[] = {
	{ NO, NO, "yynynn" },
	{ NO, YES, "ynyynn" },
	{ YES, NO, "ynynyy" },
	{ YES, YES, "ynynyy" },
	{ YES, UNKNOWN, "ynynyy" },
	{ UNKNOWN, YES, "yny???" },
	{ NO, UNKNOWN, "y??ynn" },
	{ UNKNOWN, NO, "y?????" },
	{ UNKNOWN, UNKNOWN, "y?????" },
};

static char verdict(const struct host_role *r, enum session_attrs attrs)
{
	if (!host_role_is_known(r, attrs)) {
		assert_null(host_role_misfit(r, attrs));
		return '?';
	}
	return host_role_misfit(r, attrs) == NULL ? 'y' : 'n';
}

static void test_all_words_with_all_that_may_be_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct host_role r = { cases[i].standby,
			cases[i].read_only };
		char got[ATTRS_PREFER_STANDBY + 2] = "";

		for (int a = ATTRS_ANY; a <= ATTRS_PREFER_STANDBY; a++)
			got[a] = verdict(&r, (enum session_attrs)a);
		assert_string_equal(got, cases[i].want);
	}
}

static void test_reported_parameters_tell(void **state)
{
	struct host_role r = { UNKNOWN, UNKNOWN };

	(void)state;
	host_role_note(&r, "TimeZone", "on");
	assert_int_equal(r.standby, UNKNOWN);
	assert_int_equal(r.read_only, UNKNOWN);
	host_role_note(&r, "in_hot_standby", "on");
	host_role_note(&r, "default_transaction_read_only", "off");
	assert_int_equal(r.standby, YES);
	assert_int_equal(r.read_only, NO);
	host_role_note(&r, "in_hot_standby", "off");
	assert_string_equal(host_role_misfit(&r, ATTRS_READ_ONLY),
	    "session is not read-only");
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
		TEST(test_name_is_compared_without_case),
		TEST(test_folder_has_all_sockets_in_it),
		TEST(test_address_is_the_same_however_it_is_written),
		TEST(test_pool_stops_when_all_of_its_list_are_drained),
		TEST(test_pool_whose_names_lead_there_looks_again),
		TEST(test_no_more_than_may_be),
		cmocka_unit_test(test_all_words_with_all_that_may_be_known),
		cmocka_unit_test(test_reported_parameters_tell),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
