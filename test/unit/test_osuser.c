/* test_osuser.c - the users of the system.
 * SPDX-License-Identifier: ISC */
#include "base/osuser.h"

#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

static void test_user_is_found_by_name_or_number(void **state)
{
	const struct passwd *const me = getpwuid(0);
	uid_t uid = 77;

	(void)state;
	assert_int_equal(osuser_find("4294967294", &uid), 0);
	assert_int_equal(uid, 4294967294u);
	assert_int_equal(osuser_find("0", &uid), 0);
	assert_int_equal(uid, 0);
	if (me != NULL) {
		assert_int_equal(osuser_find(me->pw_name, &uid), 0);
		assert_int_equal(uid, 0);
	}
	assert_int_equal(osuser_find("4294967295", &uid), -1);
	assert_int_equal(osuser_find("nobody of that name", &uid),
	    -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(uid, 0);
}

static void test_without_memory_nobody_is_found(void **state)
{
	uid_t uid;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(osuser_find("root", &uid), -1);
	mem_fail_at(0);
	assert_int_equal(errno, ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_is_found_by_name_or_number),
		cmocka_unit_test(test_without_memory_nobody_is_found),
	};

	return cmocka_run_group_tests_name("osuser", tests, NULL, NULL);
}
