/* test_json.c - JSON: whatever a name is made of, what is written can be read.
 * SPDX-License-Identifier: ISC */
#include "http/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/msg.h"

static void check(const char *s, const char *expected)
{
	struct writer w;

	writer_init(&w, 4096);
	json_put_string(&w, s);
	writer_u8(&w, '\0');
	assert_false(w.failed);
	assert_string_equal((const char *)w.at, expected);
	writer_fini(&w);
}

static void test_strings_are_escaped(void **state)
{
	(void)state;
	check(NULL, "null");
	check("", "\"\"");
	check("shop", "\"shop\"");
	check("<b>'&", "\"<b>'&\"");
	check("a\"b\\c", "\"a\\\"b\\\\c\"");
	check("\n\x1b[0m\x7f", "\"\\u000a\\u001b[0m\\u007f\"");
	check("\xc3\xa4\xf0\x9f\x90\x98", "\"\xc3\xa4\xf0\x9f\x90\x98\"");
}

static void test_what_is_not_utf8_is_replaced(void **state)
{
	(void)state;
	check("\xff", "\"\\ufffd\"");
	check("a\xc3", "\"a\\ufffd\"");
	check("\xed\xa0\x80z", "\"\\ufffd\\ufffd\\ufffdz\"");
	check("\xc0\xaf\"", "\"\\ufffd\\ufffd\\\"\"");
}

static void test_every_byte_is_written_as_something(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		const char s[] = { (char)c, '\0' };
		const char *at = s;
		char out[JSON_CHARACTER];
		const size_t n = json_character(&at, out);

		assert_ptr_equal(at, s + 1);
		assert_in_range(n, 1, JSON_CHARACTER - 1);
		for (size_t i = 0; i < n; i++)
			assert_in_range(out[i], ' ', '~');
	}
}

static void test_numbers(void **state)
{
	struct writer w;

	(void)state;
	writer_init(&w, 4096);
	json_put_number(&w, INT64_MIN);
	writer_u8(&w, ' ');
	json_put_unsigned(&w, UINT64_MAX);
	writer_u8(&w, '\0');
	assert_string_equal((const char *)w.at,
	    "-9223372036854775808 18446744073709551615");
	writer_fini(&w);
}

static void test_failure_sticks(void **state)
{
	struct writer w;

	(void)state;
	writer_init(&w, 8);
	json_put_string(&w, "longer than eight");
	assert_true(w.failed);
	json_put_number(&w, 1);
	assert_true(w.failed);
	writer_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings_are_escaped),
		cmocka_unit_test(test_what_is_not_utf8_is_replaced),
		cmocka_unit_test(test_every_byte_is_written_as_something),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_failure_sticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
