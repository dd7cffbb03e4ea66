/* test_require.c - how servers may have us prove who we are.
 * SPDX-License-Identifier: ISC */
#include "conf/require.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

static unsigned forbidden(const char *text)
{
	unsigned out = 12345;
	struct err e;

	assert_int_equal(require_auth_parse(text, &out, &e), 0);
	return out;
}

static void refuse(const char *text, const char *why)
{
	unsigned out;
	struct err e;

	assert_int_equal(require_auth_parse(text, &out, &e), -1);
	assert_string_equal(e.text, why);
}

static void test_nothing_is_forbidden_by_nothing(void **state)
{
	(void)state;
	assert_int_equal(forbidden(NULL), 0);
	assert_int_equal(forbidden(""), 0);
	assert_int_equal(forbidden(" \t"), 0);
}

static void test_what_is_not_named_is_forbidden(void **state)
{
	(void)state;
	assert_int_equal(forbidden("scram-sha-256"),
	    ~(unsigned)REQUIRE_SCRAM);
	assert_int_equal(forbidden(" md5 ,\tnone "),
	    ~(unsigned)(REQUIRE_MD5 | REQUIRE_NONE));
	assert_int_equal(forbidden("password,gss,sspi,oauth"),
	    ~(unsigned)(REQUIRE_PASSWORD | REQUIRE_GSS | REQUIRE_SSPI |
	    REQUIRE_OAUTH));
}

static void test_what_is_named_by_not_is_forbidden(void **state)
{
	(void)state;
	assert_int_equal(forbidden("!password"), REQUIRE_PASSWORD);
	assert_int_equal(forbidden("!none , !md5"),
	    REQUIRE_NONE | REQUIRE_MD5);
}

static void test_what_means_nothing_is_an_error(void **state)
{
	(void)state;
	refuse("scram", "server_require_auth: unknown method \"scram\"");
	refuse("MD5", "server_require_auth: unknown method \"MD5\"");
	refuse("md5,", "server_require_auth: unknown method \"\"");
	refuse(",md5", "server_require_auth: unknown method \"\"");
	refuse("md5 none", "server_require_auth: unknown method \"md5 none\"");
	refuse("! md5", "server_require_auth: unknown method \" md5\"");
	refuse("!!md5", "server_require_auth: unknown method \"!md5\"");
	refuse("md5,none,md5", "server_require_auth: repeated method \"md5\"");
	refuse("md5,!none", "server_require_auth: methods with and without "
	    "\"!\" cannot be mixed: \"none\"");
	refuse("!md5,none", "server_require_auth: methods with and without "
	    "\"!\" cannot be mixed: \"none\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_forbidden_by_nothing),
		cmocka_unit_test(test_what_is_not_named_is_forbidden),
		cmocka_unit_test(test_what_is_named_by_not_is_forbidden),
		cmocka_unit_test(test_what_means_nothing_is_an_error),
	};

	return cmocka_run_group_tests_name("require", tests, NULL, NULL);
}
