/* test_md5.c - stored forms and answers, against PostgreSQL's own.
 * SPDX-License-Identifier: ISC */
#include "proto/md5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* CREATE ROLE postgres PASSWORD 'password' with password_encryption = md5 */
#define SECRET "md532e12f215ba27cb750c9e093ce4b5127"

static void test_secret_equals_what_postgresql_stores(void **state)
{
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_secret("password", "postgres", out), 0);
	assert_string_equal(out, SECRET);
}

static void test_secret_of_empty_password_is_that_of_the_name(void **state)
{
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_secret("", "a", out), 0);
	assert_string_equal(out, "md50cc175b9c0f1b6a831c399e269772661");
}

static void test_secret_of_long_password_is_computed(void **state)
{
	static char password[65531];
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	memset(password, 'x', sizeof password - 1);
	assert_int_equal(md5_secret(password, "u", out), 0);
	assert_true(md5_is_secret(out));
}

/* md5("32e1...5127" followed by the bytes 1 2 3 4) */
static void test_response_is_the_hash_of_hex_and_salt(void **state)
{
	static const uint8_t salt[4] = { 1, 2, 3, 4 };
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_response(SECRET, salt, out), 0);
	assert_string_equal(out, "md598511ceaec347a656f032c7f2a16ef17");
}

static void test_response_differs_for_another_salt(void **state)
{
	static const uint8_t a[4] = { 0, 0, 0, 0 }, b[4] = { 0, 0, 0, 1 };
	char out_a[MD5_SECRET_LEN + 1], out_b[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_response(SECRET, a, out_a), 0);
	assert_int_equal(md5_response(SECRET, b, out_b), 0);
	assert_string_not_equal(out_a, out_b);
}

static const char *const not_secrets[] = {
	"",
	"md5",
	"password",
	"md532e12f215ba27cb750c9e093ce4b512",
	"md532e12f215ba27cb750c9e093ce4b51270",
	"md532E12F215BA27CB750C9E093CE4B5127",
	"md532e12f215ba27cb750c9e093ce4b512g",
	"md432e12f215ba27cb750c9e093ce4b5127",
	"MD532e12f215ba27cb750c9e093ce4b5127",
};

static void test_text_of_another_form_is_no_secret(void **state)
{
	(void)state;
	assert_true(md5_is_secret(SECRET));
	for (size_t i = 0; i < sizeof not_secrets / sizeof *not_secrets; i++)
		assert_false(md5_is_secret(not_secrets[i]));
}

static void test_response_from_another_form_fails_and_is_empty(void **state)
{
	static const uint8_t salt[4] = { 1, 2, 3, 4 };
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	for (size_t i = 0; i < sizeof not_secrets / sizeof *not_secrets; i++) {
		memset(out, 'x', sizeof out);
		assert_int_equal(md5_response(not_secrets[i], salt, out), -1);
		assert_string_equal(out, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secret_equals_what_postgresql_stores),
		cmocka_unit_test(
		    test_secret_of_empty_password_is_that_of_the_name),
		cmocka_unit_test(test_secret_of_long_password_is_computed),
		cmocka_unit_test(test_response_is_the_hash_of_hex_and_salt),
		cmocka_unit_test(test_response_differs_for_another_salt),
		cmocka_unit_test(test_text_of_another_form_is_no_secret),
		cmocka_unit_test(
		    test_response_from_another_form_fails_and_is_empty),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
