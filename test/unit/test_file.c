/* test_file.c - a secret that a file holds, kept as its digest.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "conf/file.h"

static struct token t;
static struct err e;

static int load_bytes(const char *text, size_t len)
{
	char path[] = "/tmp/pgsluice-token-XXXXXX";
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	const int rc = token_load(path, &t, &e);

	unlink(path);
	return rc;
}

static int load(const char *text)
{
	return load_bytes(text, strlen(text));
}

static void test_first_line_is_the_token(void **state)
{
	(void)state;
	assert_int_equal(load(" abc \nother\n"), 0);
	assert_true(t.given);
	assert_true(token_is(&t, "abc"));
	assert_false(token_is(&t, "ab"));
	assert_false(token_is(&t, "abcd"));
	assert_false(token_is(&t, ""));
}

static void test_file_without_token_is_refused(void **state)
{
	(void)state;
	assert_int_equal(load(""), -1);
	assert_int_equal(load("\nabc\n"), -1);
	assert_false(t.given);
	assert_non_null(strstr(e.text, "has no token"));
	assert_int_equal(token_load("/nonexistent", &t, &e), -1);
	assert_false(t.given);
}

static void test_file_with_a_nul_byte_is_refused(void **state)
{
	(void)state;
	assert_int_equal(load_bytes("abc\0def\n", 8), -1);
	assert_false(t.given);
	assert_non_null(strstr(e.text, "NUL byte"));
	assert_non_null(strstr(e.text, "line 1"));
	assert_int_equal(load_bytes("abc\n\0", 5), -1);
	assert_non_null(strstr(e.text, "line 2"));
}

static void test_no_file_means_no_token(void **state)
{
	(void)state;
	assert_int_equal(token_load("", &t, &e), 0);
	assert_false(t.given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_line_is_the_token),
		cmocka_unit_test(test_file_without_token_is_refused),
		cmocka_unit_test(test_file_with_a_nul_byte_is_refused),
		cmocka_unit_test(test_no_file_means_no_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
