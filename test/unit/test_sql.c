/* test_sql.c - unit tests of the statements a pooler must know.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/sql.h"

static bool forgets(const char *sql)
{
	return sql_forgets_all(sql, strlen(sql) + 1);
}

static void test_statements_that_drop_all_are_seen(void **state)
{
	(void)state;
	assert_true(forgets("DISCARD ALL"));
	assert_true(forgets("deallocate all"));
	assert_true(forgets("  Deallocate\n\tprepare  ALL ; "));
	assert_true(forgets("discard all;;"));
	assert_true(forgets("select 1; deallocate all"));
	assert_true(forgets("discard all; select 1"));
	assert_true(forgets(";;discard all"));
	assert_true(forgets("/* a /* nested ; */ one */ discard/**/all"));
	assert_true(forgets("select 1; -- so; much\n deallocate--\nall"));
}

static void test_others_are_not(void **state)
{
	static const char *const no[] = { "", " ", "discard", "discard plans",
	    "discard allx", "discardall", "deallocate name",
	    "deallocate prepare", "select 1", "select discard all",
	    "deallocate \"all\"", "d", "select 1; discard", ";", "/*",
	    "/* discard all", "-- discard all", "-", "/", "/* */ */" };

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(forgets(no[i]));
}

static void test_text_without_nul_is_read_to_its_end_only(void **state)
{
	const char text[] = { 'd', 'i', 's', 'c', 'a', 'r', 'd', ' ', 'a', 'l' };

	(void)state;
	for (size_t n = 0; n <= sizeof text; n++)
		assert_false(sql_forgets_all(text, n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements_that_drop_all_are_seen),
		cmocka_unit_test(test_others_are_not),
		cmocka_unit_test(
		    test_text_without_nul_is_read_to_its_end_only),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
