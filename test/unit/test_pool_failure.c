/* test_pool_failure.c - the reason of the latest login that failed.
 * SPDX-License-Identifier: ISC */
#include "pool/pool_failure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pool/pool.h"

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
		cmocka_unit_test(test_latest_reason_is_kept),
		cmocka_unit_test(test_miss_is_of_the_attempt_that_failed_by_it),
		cmocka_unit_test(test_success_forgets),
		cmocka_unit_test(test_no_memory_is_a_reason),
		cmocka_unit_test(test_retry_is_due_whatever_the_pause),
		cmocka_unit_test(
		    test_retry_without_clients_is_rarer_the_older_the_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
