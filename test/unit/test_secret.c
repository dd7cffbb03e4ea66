/* test_secret.c - what a password that changes may be.
 * SPDX-License-Identifier: ISC */
#include "conf/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

static char buf[SECRET_BUFFER];
static struct err e;

/* The line of these bytes, or why there is none. */
static const char *line_of(const char *text, size_t len)
{
	memcpy(buf, text, len);
	return secret_take_line(buf, len, &e) < 0 ? e.text : buf;
}

static void test_end_of_the_line_is_no_part_of_it(void **state)
{
	(void)state;
	assert_string_equal(line_of("ab", 2), "ab");
	assert_string_equal(line_of("ab\n", 3), "ab");
	assert_string_equal(line_of("ab\r\n", 4), "ab");
	assert_string_equal(line_of(" a\rb \n", 6), " a\rb ");
}

static void test_what_is_no_line_is_refused(void **state)
{
	(void)state;
	assert_string_equal(line_of("", 0), "it is empty");
	assert_string_equal(line_of("\n", 1), "it is empty");
	assert_string_equal(line_of("\r\n", 2), "it is empty");
	assert_string_equal(line_of("a\nb", 3), "it has more than one line");
	assert_string_equal(line_of("a\n\n", 3), "it has more than one line");
	assert_string_equal(line_of("a\0b\n", 4), "it has a NUL byte");
}

static void test_longest_line_holds_to_the_byte(void **state)
{
	static char text[SECRET_BUFFER];

	(void)state;
	memset(text, 'x', sizeof text);
	assert_int_equal(strlen(line_of(text, SECRET_TEXT_MAX)),
	    SECRET_TEXT_MAX);
	assert_string_equal(line_of(text, SECRET_TEXT_MAX + 1),
	    "it is longer than 64 kB");
	text[SECRET_TEXT_MAX] = '\r';
	text[SECRET_TEXT_MAX + 1] = '\n';
	assert_int_equal(strlen(line_of(text, SECRET_TEXT_MAX + 2)),
	    SECRET_TEXT_MAX);
}

static void put(const char *path, const char *text)
{
	FILE *const f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_file_is_read_when_it_is_another(void **state)
{
	char path[] = "/tmp/test_secret_XXXXXX", other[64];
	struct secret_place place = { .dev = 0 };

	(void)state;
	assert_true(mkstemp(path) >= 0);
	snprintf(other, sizeof other, "%s.new", path);
	put(path, "one\n");
	assert_int_equal(secret_read_file(path, &place, buf, &e), 1);
	assert_string_equal(buf, "one");
	assert_int_equal(secret_read_file(path, &place, buf, &e), 0);
	put(other, "two\n");
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(secret_read_file(path, &place, buf, &e), 1);
	assert_string_equal(buf, "two");
	put(path, "");
	assert_int_equal(secret_read_file(path, &place, buf, &e), -1);
	assert_non_null(strstr(e.text, "\": it is empty"));
	unlink(path);
	assert_int_equal(secret_read_file(path, &place, buf, &e), -1);
	assert_non_null(strstr(e.text, "No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_of_the_line_is_no_part_of_it),
		cmocka_unit_test(test_what_is_no_line_is_refused),
		cmocka_unit_test(test_longest_line_holds_to_the_byte),
		cmocka_unit_test(test_file_is_read_when_it_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
