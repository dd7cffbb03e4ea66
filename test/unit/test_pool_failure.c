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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_latest_reason_is_kept),
		cmocka_unit_test(test_success_forgets),
		cmocka_unit_test(test_no_memory_is_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
