/* test_pool.c - lists, verdicts at release, how many servers are wanted.
 * SPDX-License-Identifier: ISC */
#include "pool/catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pool/limit.h"
#include "pool/pool.h"

#define NOW (1000 * USEC)

struct fixture {
	struct config_db conf;
	struct database db;
	struct user user;
	struct pool pool;
	struct pool_server s[12];
	struct pool_client c[12];
	unsigned servers, clients;
	struct welcome welcome;		/* at the end: its size varies */
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof f);
	f.db.conf = &f.conf;
	f.pool.key.db = &f.db;
	f.pool.key.user = &f.user;
	f.pool.welcome = &f.welcome;
	f.pool.limits = (struct pool_limits){ .size = 5, .lifetime = 100 * USEC,
		.login_retry = 15 * USEC, .login_concurrency = 4,
		.check_delay = 30 * USEC };
	*state = &f;
	return 0;
}

static struct pool_server *server(struct fixture *f, enum server_state state)
{
	struct pool_server *ps = &f->s[f->servers++];

	*ps = (struct pool_server){ .pool = &f->pool, .state = SERVER_GONE,
		.born = NOW };
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

static unsigned wanted(const struct fixture *f)
{
	bool reserve;
	const unsigned n = pool_wanted(&f->pool, NOW, &reserve);

	assert_false(reserve);
	return n;
}

/* An idle one that a client has had. */
static struct pool_server *lent(struct fixture *f)
{
	struct pool_server *ps = server(f, SERVER_ACTIVE);

	ps->lent = true;
	pool_server_set(ps, SERVER_IDLE);
	return ps;
}

static void test_clean_servers_are_kept_for_lookups(void **state)
{
	struct fixture *f = *state;
	struct pool_server *a = server(f, SERVER_IDLE), *b = lent(f);

	assert_ptr_equal(pool_pick_server(&f->pool), b);
	assert_ptr_equal(clean_pick(&f->pool), a);
	assert_ptr_equal(clean_pick_lent(&f->pool), b);
	a->close_needed = true;
	assert_null(clean_pick(&f->pool));
	b->close_needed = true;
	assert_null(clean_pick_lent(&f->pool));
}

static void test_link_tells_lookups_from_clients(void **state)
{
	struct fixture *f = *state;
	struct pool_server *ps = server(f, SERVER_IDLE);
	struct pool_client *pc = client(f, CLIENT_LOGIN);

	pc->lookup = true;
	pool_link(pc, ps);
	assert_false(ps->lent);
	pool_unlink(pc);
	pc->lookup = false;
	pool_link(pc, ps);
	assert_true(ps->lent);
	pool_unlink(pc);
	pc->lookup = true;
	pool_link(pc, ps);
	assert_true(ps->lent);
	pool_unlink(pc);
}

static void test_lookup_that_waits_wants_a_clean_server(void **state)
{
	struct fixture *f = *state;
	struct pool_server *dirty = lent(f);
	struct pool_client *pc = client(f, CLIENT_LOGIN);

	assert_false(clean_is_wanted(&f->pool, NOW));
	pc->lookup = true;
	pool_client_set(pc, CLIENT_WAITING);
	assert_int_equal(f->pool.lookups, 1);
	assert_null(clean_pick_other(&f->pool));
	struct pool_client *other = client(f, CLIENT_WAITING);

	assert_ptr_equal(clean_pick_other(&f->pool), other);
	assert_true(clean_is_wanted(&f->pool, NOW));
	pool_server_set(dirty, SERVER_TESTED);
	assert_true(clean_is_wanted(&f->pool, NOW));
	/* one is on its way */
	struct pool_server *clean = server(f, SERVER_LOGIN);

	assert_false(clean_is_wanted(&f->pool, NOW));
	pool_server_set(clean, SERVER_ACTIVE);
	assert_false(clean_is_wanted(&f->pool, NOW));
	clean->lent = true;
	assert_true(clean_is_wanted(&f->pool, NOW));
	/* in vain, till the pause is over */
	f->pool.failing = true;
	f->pool.last_launch = NOW;
	assert_false(clean_is_wanted(&f->pool, NOW));
	pool_client_set(pc, CLIENT_LOGIN);
	assert_int_equal(f->pool.lookups, 0);
}

static void test_idle_servers_are_a_stack(void **state)
{
	struct fixture *f = *state;
	struct pool_server *a = lent(f), *b = lent(f);

	assert_ptr_equal(pool_pick_server(&f->pool), b);
	pool_server_set(b, SERVER_ACTIVE);
	assert_ptr_equal(pool_pick_server(&f->pool), a);
	pool_server_set(b, SERVER_IDLE);
	assert_ptr_equal(pool_pick_server(&f->pool), b);
	pool_server_set(a, SERVER_USED);
	pool_server_set(b, SERVER_USED);
	assert_ptr_equal(f->pool.servers[SERVER_USED], b);
	assert_null(pool_pick_server(&f->pool));
}

static void test_round_robin_is_a_queue(void **state)
{
	struct fixture *f = *state;

	f->pool.limits.round_robin = true;
	struct pool_server *a = server(f, SERVER_IDLE);

	server(f, SERVER_IDLE);
	assert_ptr_equal(pool_pick_server(&f->pool), a);
	/* used ones are a stack all the same */
	pool_server_set(a, SERVER_USED);
	struct pool_server *u = server(f, SERVER_USED);

	assert_ptr_equal(f->pool.servers[SERVER_USED], u);
}

static void test_obsolete_servers_are_not_picked(void **state)
{
	struct fixture *f = *state;

	f->pool.limits.round_robin = true;
	struct pool_server *a = server(f, SERVER_IDLE);
	struct pool_server *b = server(f, SERVER_IDLE);

	a->close_needed = true;
	assert_ptr_equal(pool_pick_server(&f->pool), b);
	b->close_needed = true;
	assert_null(pool_pick_server(&f->pool));
	client(f, CLIENT_WAITING);
	assert_int_equal(wanted(f), 1);
	f->pool.limits.round_robin = false;
	struct pool_server *c = lent(f);

	assert_ptr_equal(pool_pick_server(&f->pool), c);
	pool_server_set(a, SERVER_ACTIVE);
	pool_server_set(a, SERVER_IDLE);	/* to the back */
	assert_ptr_equal(f->pool.servers[SERVER_IDLE], c);
}

static void test_counts_follow_every_move(void **state)
{
	struct fixture *f = *state;
	struct pool_server *a = server(f, SERVER_LOGIN);

	server(f, SERVER_ACTIVE_CANCEL);
	assert_int_equal(f->db.servers, 2);
	assert_int_equal(f->user.servers, 2);
	assert_int_equal(pool_connected(&f->pool), 0);
	assert_int_equal(pool_total(&f->pool), 2);
	for (int i = SERVER_IDLE; i <= SERVER_BEING_CANCELED; i++) {
		pool_server_set(a, (enum server_state)i);
		assert_int_equal(pool_connected(&f->pool), 1);
		assert_int_equal(f->pool.server_count[i], 1);
		assert_ptr_equal(f->pool.servers[i], a);
	}
	pool_server_set(a, SERVER_GONE);
	pool_server_set(a, SERVER_GONE);
	assert_int_equal(pool_total(&f->pool), 1);
	assert_int_equal(f->db.servers, 1);
	assert_int_equal(f->user.servers, 1);
}

static void test_link_and_queue(void **state)
{
	struct fixture *f = *state;
	struct pool_client *a = client(f, CLIENT_WAITING);
	struct pool_client *b = client(f, CLIENT_WAITING);
	struct pool_server *s = server(f, SERVER_IDLE);

	assert_ptr_equal(pool_pick_client(&f->pool), a);
	pool_client_set(a, CLIENT_ACTIVE);
	pool_link(a, s);
	assert_ptr_equal(a->server, s);
	assert_ptr_equal(s->client, a);
	assert_int_equal(s->state, SERVER_ACTIVE);
	assert_int_equal(f->pool.counted.now.server_assignment_count, 1);
	assert_ptr_equal(pool_pick_client(&f->pool), b);
	pool_unlink(a);
	assert_null(a->server);
	assert_null(s->client);
	pool_client_set(b, CLIENT_LOGIN);
	assert_null(pool_pick_client(&f->pool));
	assert_int_equal(f->pool.client_count[CLIENT_WAITING], 0);
	assert_int_equal(f->pool.client_count[CLIENT_ACTIVE], 1);
}

static void verdict(struct pool_server *ps, usec_t now,
    enum pool_release want, enum close_reason reason)
{
	enum close_reason why = CLOSE_NONE;

	assert_int_equal(pool_release_verdict(ps,
	    ps->state == SERVER_ACTIVE || ps->state == SERVER_BEING_CANCELED,
	    now, &why), want);
	assert_int_equal(why, reason);
}

static void test_release_verdicts_come_in_order(void **state)
{
	struct fixture *f = *state;
	struct pool_server *s = server(f, SERVER_ACTIVE);
	const usec_t old = NOW + 100 * USEC;

	s->close_needed = true;
	s->cancels = 1;
	f->pool.limits.reset = f->pool.limits.check = true;
	f->pool.limits.check_delay = 0;
	verdict(s, old, POOL_TO_CLOSE, CLOSE_SERVER_LIFETIME_OVER);
	verdict(s, old - 1, POOL_TO_CLOSE, CLOSE_NEEDED);
	s->close_needed = false;
	s->dedicated = true;
	verdict(s, NOW, POOL_TO_BEING_CANCELED, CLOSE_NONE);
	s->cancels = 0;
	verdict(s, NOW, POOL_TO_CLOSE, CLOSE_REPLICATION_CLIENT_CLOSED);
	s->dedicated = false;
	verdict(s, NOW, POOL_TO_TESTED, CLOSE_NONE);
	pool_server_set(s, SERVER_BEING_CANCELED);
	verdict(s, NOW, POOL_TO_TESTED, CLOSE_NONE);
	f->pool.limits.reset = false;
	verdict(s, NOW, POOL_TO_USED, CLOSE_NONE);
	f->pool.limits.check_delay = 1;
	verdict(s, NOW, POOL_TO_IDLE, CLOSE_NONE);
	f->pool.limits.check_delay = 0;
	f->pool.limits.check = false;
	verdict(s, NOW, POOL_TO_IDLE, CLOSE_NONE);
}

static void test_tested_and_fresh_servers_become_idle(void **state)
{
	struct fixture *f = *state;
	struct pool_server *s = server(f, SERVER_TESTED);

	f->pool.limits.reset = f->pool.limits.check = true;
	f->pool.limits.check_delay = 0;
	verdict(s, NOW, POOL_TO_IDLE, CLOSE_NONE);
	verdict(s, NOW + 100 * USEC, POOL_TO_CLOSE, CLOSE_SERVER_LIFETIME_OVER);
	pool_server_set(s, SERVER_LOGIN);
	f->pool.limits.lifetime = 0;	/* one use, but one at least */
	verdict(s, NOW, POOL_TO_IDLE, CLOSE_NONE);
	pool_server_set(s, SERVER_ACTIVE);
	verdict(s, NOW, POOL_TO_CLOSE, CLOSE_SERVER_LIFETIME_OVER);
}

static void test_lifetime_is_spread_over_the_pool(void **state)
{
	struct fixture *f = *state;
	struct pool_server *s = server(f, SERVER_IDLE);
	const usec_t old = NOW + 200 * USEC;

	assert_false(pool_lifetime_over(s, NOW + 100 * USEC - 1));
	assert_true(pool_lifetime_over(s, NOW + 100 * USEC));
	f->pool.last_lifetime_close = old - 20 * USEC + 1;
	assert_false(pool_lifetime_over(s, old));
	assert_true(pool_lifetime_over(s, old + 1));
	f->pool.limits.size = 0;
	assert_true(pool_lifetime_over(s, old));
}

static void test_wanted_grows_in_parallel_up_to_the_size(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(wanted(f), 0);
	for (int i = 0; i < 8; i++)
		client(f, CLIENT_WAITING);
	assert_int_equal(wanted(f), 4);
	server(f, SERVER_LOGIN);
	assert_int_equal(wanted(f), 3);
	struct pool_server *t = server(f, SERVER_TESTED);

	server(f, SERVER_ACTIVE);
	assert_int_equal(wanted(f), 2);		/* up to 5 */
	f->pool.limits.size = 0;
	assert_int_equal(wanted(f), 3);
	for (int i = 0; i < 5; i++)
		pool_client_set(&f->c[i], CLIENT_ACTIVE);
	assert_int_equal(wanted(f), 1);		/* two are coming */
	t->close_needed = true;
	assert_int_equal(wanted(f), 2);
}

static void test_wanted_while_failing_is_one_at_a_time(void **state)
{
	struct fixture *f = *state;

	client(f, CLIENT_WAITING);
	client(f, CLIENT_WAITING);
	f->pool.failing = true;
	f->pool.last_launch = NOW - 15 * USEC + 1;
	assert_int_equal(wanted(f), 0);
	f->pool.last_launch--;
	assert_int_equal(wanted(f), 1);
	server(f, SERVER_LOGIN);
	assert_int_equal(wanted(f), 0);
}

static void test_reserve_for_who_waits_long(void **state)
{
	struct fixture *f = *state;
	struct pool_limits *l = &f->pool.limits;
	struct pool_client *c = client(f, CLIENT_WAITING);
	bool reserve;

	for (int i = 0; i < 5; i++)
		server(f, SERVER_ACTIVE);
	client(f, CLIENT_WAITING);
	l->reserve = 1;
	assert_int_equal(wanted(f), 0);		/* no reserve_pool_timeout */
	l->reserve_timeout = 5 * USEC;
	assert_int_equal(wanted(f), 0);
	c->wait_since = NOW - 5 * USEC;
	assert_int_equal(pool_wanted(&f->pool, NOW, &reserve), 1);
	assert_true(reserve);
	server(f, SERVER_ACTIVE);
	assert_int_equal(wanted(f), 0);
	l->size = INT32_MAX;
	l->reserve = INT32_MAX;
	assert_int_equal(wanted(f), 2);
}

static void test_welcome_waiters_want_servers_and_a_login_in_any_case(void **state)
{
	struct fixture *f = *state;

	client(f, CLIENT_WELCOME);
	client(f, CLIENT_WELCOME);
	assert_int_equal(wanted(f), 0);		/* there is a welcome */
	f->pool.welcome = NULL;
	assert_int_equal(wanted(f), 2);		/* each will want a server */
	/* other servers don't bring it, and the size does not matter */
	for (int i = 0; i < 5; i++)
		server(f, i < 3 ? SERVER_ACTIVE : SERVER_IDLE);
	assert_int_equal(wanted(f), 1);
	server(f, SERVER_LOGIN);
	assert_int_equal(wanted(f), 0);
}

static void test_minimum(void **state)
{
	struct fixture *f = *state;
	char user[] = "u";

	f->pool.limits.min = 2;
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 0);
	f->conf.user = user;
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 1);
	f->conf.user = NULL;
	client(f, CLIENT_ACTIVE);
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 1);
	struct pool_server *s = server(f, SERVER_LOGIN);

	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 0);
	pool_server_set(s, SERVER_IDLE);
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 1);
	f->pool.limits.size = 1;
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 0);
	f->pool.limits.size = 0;
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 1);
	f->pool.failing = true;
	f->pool.last_launch = NOW;
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 0);
	f->pool.failing = false;
	server(f, SERVER_USED);
	assert_int_equal(pool_wanted_minimum(&f->pool, NOW), 0);
}

static void test_down_means_failing_and_empty(void **state)
{
	struct fixture *f = *state;

	assert_false(pool_is_down(&f->pool));
	f->pool.failing = true;
	assert_true(pool_is_down(&f->pool));
	server(f, SERVER_LOGIN);
	assert_true(pool_is_down(&f->pool));
	struct pool_server *s = server(f, SERVER_ACTIVE_CANCEL);

	assert_false(pool_is_down(&f->pool));
	pool_server_set(s, SERVER_ACTIVE);
	assert_false(pool_is_down(&f->pool));
}

static void test_own_servers_are_for_those_who_wait_for_one(void **state)
{
	struct fixture *f = *state;
	struct pool *p = &f->pool;

	assert_null(pool_pick_dedicated(p, NOW));
	struct pool_client *a = client(f, CLIENT_DEDICATED_WAITING);
	struct pool_client *b = client(f, CLIENT_DEDICATED_WAITING);

	/* nobody else is served, or served less, because of them */
	assert_null(pool_pick_client(p));
	assert_int_equal(wanted(f), 0);
	assert_ptr_equal(pool_pick_dedicated(p, NOW), a);
	a->server = server(f, SERVER_DEDICATED_LOGIN);
	assert_ptr_equal(pool_pick_dedicated(p, NOW), b);
	client(f, CLIENT_WAITING);
	assert_int_equal(wanted(f), 1);
	p->limits.login_concurrency = 1;
	assert_null(pool_pick_dedicated(p, NOW));
	p->limits.login_concurrency = 4;
	p->failing = true;
	p->last_launch = NOW;
	assert_null(pool_pick_dedicated(p, NOW));
	assert_null(pool_pick_dedicated(p, NOW + 15 * USEC));
	pool_server_set(a->server, SERVER_ACTIVE);
	assert_null(pool_pick_dedicated(p, NOW + 15 * USEC - 1));
	assert_ptr_equal(pool_pick_dedicated(p, NOW + 15 * USEC), b);
}

static void test_dedicated_logins_count_but_need_no_welcome(void **state)
{
	struct fixture *f = *state;

	f->pool.welcome = NULL;
	server(f, SERVER_DEDICATED_LOGIN);
	assert_int_equal(pool_total(&f->pool), 1);
	assert_int_equal(pool_connected(&f->pool), 0);
	client(f, CLIENT_WELCOME);
	assert_int_equal(wanted(f), 1);
	f->pool.limits.size = 1;
	assert_int_equal(wanted(f), 1);
	f->pool.failing = true;
	assert_true(pool_is_down(&f->pool));
}

static void test_spare_servers_make_room_for_an_own_one(void **state)
{
	struct fixture *f = *state;
	struct pool_limits *l = &f->pool.limits;
	struct pool_client *c = client(f, CLIENT_DEDICATED_WAITING);
	struct pool_server *idle, *victim;
	bool reserve;

	l->size = 2;
	server(f, SERVER_ACTIVE);
	assert_int_equal(limit_check_dedicated(c, NOW, &victim, &reserve),
	    LIMIT_FREE);
	idle = lent(f);
	idle->used = NOW - 1;
	lent(f)->used = NOW;
	assert_int_equal(limit_check_dedicated(c, NOW, &victim, &reserve),
	    LIMIT_EVICT);
	assert_ptr_equal(victim, idle);
	pool_server_set(f->pool.servers[SERVER_IDLE], SERVER_ACTIVE);
	pool_server_set(idle, SERVER_TESTED);
	assert_int_equal(limit_check_dedicated(c, NOW, &victim, &reserve),
	    LIMIT_FULL);
	l->reserve = 2;
	l->reserve_timeout = USEC;
	assert_int_equal(limit_check_dedicated(c, NOW, &victim, &reserve),
	    LIMIT_FULL);
	assert_int_equal(limit_check_dedicated(c, NOW + USEC, &victim, &reserve),
	    LIMIT_FREE);
	assert_true(reserve);
	l->max_db = 3;
	assert_int_equal(limit_check_dedicated(c, NOW + USEC, &victim, &reserve),
	    LIMIT_FULL);
	l->size = l->max_db = 0;
	assert_int_equal(limit_check_dedicated(c, NOW, &victim, &reserve),
	    LIMIT_FREE);
	assert_false(reserve);
}

#define CASE(f) cmocka_unit_test_setup(f, setup)

static void test_latest_reason_is_kept(void **state)
{
	struct pool p = { .failing = false };
	char reason[] = "connect failed";

	(void)state;
	pool_fail(&p, "login failed", NULL);
	pool_fail(&p, reason, "mend it");
	reason[0] = '?';
	assert_true(p.failing);
	assert_string_equal(pool_failure(&p), "connect failed");
	assert_string_equal(pool_failure_hint(&p), "mend it");
	pool_fail(&p, reason, NULL);
	assert_string_not_equal(pool_failure_hint(&p), "mend it");
	pool_worked(&p);
}

static void test_miss_is_of_the_attempt_that_failed_by_it(void **state)
{
	struct pool p = { .failing = false };

	(void)state;
	pool_miss(&p, "No route to host (10.0.0.7:5432)");
	pool_miss(&p, "Connection refused (10.0.0.8:5432)");
	pool_fail(&p, "connect failed", NULL);
	assert_string_equal(pool_failure_detail(&p),
	    "Connection refused (10.0.0.8:5432)");
	/* the next one got further */
	pool_fail(&p, "login failed", NULL);
	assert_null(pool_failure_detail(&p));
	pool_miss(&p, "Connection refused (10.0.0.8:5432)");
	pool_worked(&p);
	assert_null(pool_failure_detail(&p));
}

static void test_success_forgets(void **state)
{
	struct pool p = { .failing = false };

	(void)state;
	pool_fail(&p, "login failed", NULL);
	pool_worked(&p);
	assert_false(p.failing);
	assert_null(p.failure);
}

static void test_no_memory_is_a_reason(void **state)
{
	struct pool p = { .failing = false };

	(void)state;
	pool_fail(&p, NULL, NULL);
	assert_true(p.failing);
	assert_string_equal(pool_failure(&p), "out of memory");
	mem_fail_at(1);
	pool_fail(&p, "login failed", NULL);
	mem_fail_at(0);
	assert_true(p.failing);
	assert_string_equal(pool_failure(&p), "out of memory");
	pool_worked(&p);
}

static void test_retry_is_due_whatever_the_pause(void **state)
{
	struct pool p = { .limits.login_retry = INT64_MAX / 4 };

	(void)state;
	time_set_fake(USEC);
	p.last_launch = time_now();
	pool_fail(&p, "no", NULL);
	time_set_fake(2 * USEC);
	assert_false(pool_may_retry(&p, time_now()));
	pool_retry_now(&p);
	assert_true(pool_may_retry(&p, time_now()));
	assert_true(p.failing);
	assert_true(pool_retry_alone(&p) <= time_now());
	pool_worked(&p);
}

/* Every 15 s at first; after an hour every 5 minutes. */
static void test_retry_without_clients_is_rarer_the_older_the_failure(
    void **state)
{
	struct pool p = { .limits.login_retry = 15 * USEC };

	(void)state;
	time_set_fake(1000 * USEC);
	pool_fail(&p, "no", NULL);
	p.last_launch = 1000 * USEC;
	assert_int_equal(pool_retry_alone(&p), 1015 * USEC);
	p.last_launch = 1400 * USEC;
	assert_int_equal(pool_retry_alone(&p), 1450 * USEC);
	p.last_launch = 9000 * USEC;
	assert_int_equal(pool_retry_alone(&p), 9300 * USEC);
	p.limits.login_retry = 0;
	p.last_launch = 1000 * USEC;
	assert_int_equal(pool_retry_alone(&p), 1000 * USEC + USEC / 2);
	p.limits.login_retry = 3600 * USEC;
	assert_int_equal(pool_retry_alone(&p), 4600 * USEC);
	pool_worked(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_clean_servers_are_kept_for_lookups),
		CASE(test_link_tells_lookups_from_clients),
		CASE(test_lookup_that_waits_wants_a_clean_server),
		CASE(test_idle_servers_are_a_stack),
		CASE(test_round_robin_is_a_queue),
		CASE(test_obsolete_servers_are_not_picked),
		CASE(test_counts_follow_every_move),
		CASE(test_link_and_queue),
		CASE(test_release_verdicts_come_in_order),
		CASE(test_tested_and_fresh_servers_become_idle),
		CASE(test_lifetime_is_spread_over_the_pool),
		CASE(test_wanted_grows_in_parallel_up_to_the_size),
		CASE(test_wanted_while_failing_is_one_at_a_time),
		CASE(test_reserve_for_who_waits_long),
		CASE(test_welcome_waiters_want_servers_and_a_login_in_any_case),
		CASE(test_minimum),
		CASE(test_down_means_failing_and_empty),
		CASE(test_own_servers_are_for_those_who_wait_for_one),
		CASE(test_dedicated_logins_count_but_need_no_welcome),
		CASE(test_spare_servers_make_room_for_an_own_one),
		cmocka_unit_test(test_latest_reason_is_kept),
		cmocka_unit_test(test_miss_is_of_the_attempt_that_failed_by_it),
		cmocka_unit_test(test_success_forgets),
		cmocka_unit_test(test_no_memory_is_a_reason),
		cmocka_unit_test(test_retry_is_due_whatever_the_pause),
		cmocka_unit_test(
		    test_retry_without_clients_is_rarer_the_older_the_failure),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
