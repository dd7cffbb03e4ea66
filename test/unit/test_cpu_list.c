/* test_cpu_list.c - CPUs in a text.
 * SPDX-License-Identifier: ISC */
#include "base/cpu_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

static void test_workers_take_turns(void **state)
{
	static const struct {
		const char *list;
		int at[5];
	} rows[] = {
		{ "", { -1, -1, -1, -1, -1 } },
		{ "3", { 3, 3, 3, 3, 3 } },
		{ "0-3", { 0, 1, 2, 3, 0 } },
		{ "0,2", { 0, 2, 0, 2, 0 } },
		{ "7,1-2,1023", { 7, 1, 2, 1023, 7 } },
		{ "5-5", { 5, 5, 5, 5, 5 } },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(cpu_list_check(rows[i].list, &e), 0);
		for (unsigned n = 0; n < 5; n++)
			assert_int_equal(cpu_list_at(rows[i].list, n),
			    rows[i].at[n]);
	}
	assert_int_equal(cpu_list_at("0-2", 4294967295u), 0);
}

static void test_what_is_no_list_is_refused(void **state)
{
	static const char *const broken[] = {
		"x", "-1", "3-1", "1-", "-", ",", "1,", ",1", "1,,2", "1024",
		"0-1024", "1-2-3", "1 2", "0x1", "99999999999", "all",
		"111111111111111111111111111",
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
		assert_int_equal(cpu_list_check(broken[i], &e), -1);
	cpu_list_check("0,3-1", &e);
	assert_string_equal(e.text,
	    "worker_cpus must be CPUs such as 0-3,8, not \"3-1\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers_take_turns),
		cmocka_unit_test(test_what_is_no_list_is_refused),
	};

	return cmocka_run_group_tests_name("cpu_list", tests, NULL, NULL);
}
