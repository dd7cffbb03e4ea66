/* test_num.c - strict number parsing.
 * SPDX-License-Identifier: ISC */
#include "base/num.h"

#include <limits.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

#define UNTOUCHED 4711

static int64_t i64(const char *s)
{
	int64_t v = UNTOUCHED;

	assert_int_equal(num_parse_i64(s, &v), 0);
	return v;
}

static void i64_refused(const char *s)
{
	int64_t v = UNTOUCHED;

	assert_int_equal(num_parse_i64(s, &v), -1);
	assert_int_equal(v, UNTOUCHED);
}

static void test_decimal_with_sign_and_blanks_is_read(void **state)
{
	(void)state;

	assert_int_equal(i64("0"), 0);
	assert_int_equal(i64("42"), 42);
	assert_int_equal(i64("-42"), -42);
	assert_int_equal(i64("+42"), 42);
	assert_int_equal(i64(" \t42"), 42);
}

static void test_octal_is_read_as_c_does(void **state)
{
	(void)state;

	assert_int_equal(i64("0777"), 511);
	assert_int_equal(i64("010"), 8);
	i64_refused("08");
}

static void test_hex_is_read_as_c_does(void **state)
{
	(void)state;

	assert_int_equal(i64("0x1F"), 31);
	assert_int_equal(i64("-0xa"), -10);
	i64_refused("0x");
	i64_refused("0xg");
}

static void test_binary_is_refused(void **state)
{
	(void)state;

	i64_refused("0b101");
	i64_refused("-0B1");
}

static void test_text_that_is_no_number_is_refused(void **state)
{
	(void)state;

	i64_refused("");
	i64_refused(" ");
	i64_refused("-");
	i64_refused("on");
	i64_refused("1 ; note");
	i64_refused("1 ");
	i64_refused("1.5");
	i64_refused("- 1");
	i64_refused("--1");
}

static void test_the_64_bit_limits_are_held(void **state)
{
	(void)state;

	assert_true(i64("9223372036854775807") == INT64_MAX);
	assert_true(i64("-9223372036854775808") == INT64_MIN);
	i64_refused("9223372036854775808");
	i64_refused("-9223372036854775809");
}

static void test_u32_takes_digits_only(void **state)
{
	(void)state;

	uint32_t v = UNTOUCHED;

	assert_int_equal(num_parse_u32("", &v), -1);
	assert_int_equal(num_parse_u32("-1", &v), -1);
	assert_int_equal(num_parse_u32("+1", &v), -1);
	assert_int_equal(num_parse_u32(" 1", &v), -1);
	assert_int_equal(num_parse_u32("1 ", &v), -1);
	assert_int_equal(num_parse_u32("0x1", &v), -1);
	assert_int_equal(num_parse_u32("4294967296", &v), -1);
	assert_int_equal(num_parse_u32("99999999999999999999", &v), -1);
	assert_int_equal(v, UNTOUCHED);
	assert_int_equal(num_parse_u32("010", &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(num_parse_u32("4294967295", &v), 0);
	assert_int_equal(v, UINT32_MAX);
}

static usec_t usec(const char *s)
{
	usec_t v = UNTOUCHED;

	assert_int_equal(num_parse_usec(s, &v), 0);
	return v;
}

static void usec_refused(const char *s)
{
	usec_t v = UNTOUCHED;

	assert_int_equal(num_parse_usec(s, &v), -1);
	assert_int_equal(v, UNTOUCHED);
}

static void test_plain_time_is_seconds(void **state)
{
	(void)state;

	assert_int_equal(usec("0"), 0);
	assert_int_equal(usec("0.0"), 0);
	assert_int_equal(usec("5"), 5 * USEC);
	assert_int_equal(usec(" 5"), 5 * USEC);
	assert_int_equal(usec("0.5"), 500000);
	assert_int_equal(usec(".5"), 500000);
	assert_int_equal(usec("1e3"), 1000 * USEC);
	assert_int_equal(usec("1.5E-3"), 1500);
	assert_int_equal(usec("0.1"), 100000);
	assert_int_equal(usec("010"), 10 * USEC);
}

static void test_time_takes_units(void **state)
{
	(void)state;

	assert_int_equal(usec("7us"), 7);
	assert_int_equal(usec("7ms"), 7000);
	assert_int_equal(usec("7s"), 7 * USEC);
	assert_int_equal(usec("7min"), 420 * USEC);
	assert_int_equal(usec("7h"), 7 * 3600 * USEC);
	assert_int_equal(usec("7d"), 7 * 86400 * USEC);
	assert_int_equal(usec("1.5h"), 5400 * USEC);
}

static void test_text_that_is_no_time_is_refused(void **state)
{
	(void)state;

	usec_refused("");
	usec_refused(" ");
	usec_refused("s");
	usec_refused("-1");
	usec_refused("-0.001");
	usec_refused("inf");
	usec_refused("+inf");
	usec_refused("infinity");
	usec_refused("nan");
	usec_refused("0x10");
	usec_refused("1,5");
	usec_refused("5 s");
	usec_refused("5S");
	usec_refused("5 ");
	usec_refused("5m");
	usec_refused("5y");
	usec_refused("1e");
	usec_refused(".");
}

static void test_time_out_of_range_is_refused(void **state)
{
	(void)state;

	usec_refused("1e400");
	usec_refused("1e13");
	usec_refused("9223372036854775807");
	usec_refused("1e9d");
	assert_int_equal(usec("1e12"), (usec_t)1e18);
}

static void test_point_is_the_decimal_mark_in_every_locale(void **state)
{
	(void)state;

	static const char *const names[] = { "de_DE.UTF-8", "de_DE", "" };
	unsigned i = 0;

	while (i < 2 && setlocale(LC_ALL, names[i]) == NULL)
		i++;
	assert_int_equal(usec("0.5"), 500000);
	usec_refused("0,5");
	setlocale(LC_ALL, "C");
}

static void test_bool_takes_numbers_and_words(void **state)
{
	(void)state;

	static const struct {
		const char *text;
		bool value;
	} good[] = {
		{ "0", false },
		{ "1", true },
		{ "-1", true },
		{ "2", true },
		{ "0x0", false },
		{ "on", true },
		{ "off", false },
		{ "yes", true },
		{ "no", false },
		{ "true", true },
		{ "false", false },
		{ "ON", true },
		{ "False", false },
	};

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		bool v = !good[i].value;

		assert_int_equal(num_parse_bool(good[i].text, &v), 0);
		assert_int_equal(v, good[i].value);
	}
}

static void test_text_that_is_no_bool_is_refused(void **state)
{
	(void)state;

	static const char *const bad[] = {
		"",
		" ",
		"o",
		"t",
		"yess",
		"1 on",
		"on ",
		"enable",
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		bool v = true;

		assert_int_equal(num_parse_bool(bad[i], &v), -1);
		assert_true(v);
	}
}

static void test_bytes_take_units(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} rows[] = {
		{ "4096", 4096 }, { "0x10", 16 }, { "010", 8 }, { "-1", -1 },
		{ "1kB", 1024 }, { "8 MB", 8 << 20 }, { "2GB", 2LL << 30 },
	};
	static const char *const bad[] = { "", "kB", "1k", "1KB", "1mb",
		"1.5MB", "-1kB", "08kB", "1kB x", "1 kBB",
		"9223372036854775807kB", "99999999999999999999999999kB" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t v = 77;

		assert_int_equal(num_parse_bytes(rows[i].text, &v), 0);
		assert_int_equal(v, rows[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int64_t v = 77;

		assert_int_equal(num_parse_bytes(bad[i], &v), -1);
		assert_int_equal(v, 77);
	}
}

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
		cmocka_unit_test(test_decimal_with_sign_and_blanks_is_read),
		cmocka_unit_test(test_octal_is_read_as_c_does),
		cmocka_unit_test(test_hex_is_read_as_c_does),
		cmocka_unit_test(test_binary_is_refused),
		cmocka_unit_test(test_text_that_is_no_number_is_refused),
		cmocka_unit_test(test_the_64_bit_limits_are_held),
		cmocka_unit_test(test_u32_takes_digits_only),
		cmocka_unit_test(test_plain_time_is_seconds),
		cmocka_unit_test(test_time_takes_units),
		cmocka_unit_test(test_text_that_is_no_time_is_refused),
		cmocka_unit_test(test_time_out_of_range_is_refused),
		cmocka_unit_test(
		    test_point_is_the_decimal_mark_in_every_locale),
		cmocka_unit_test(test_bytes_take_units),
		cmocka_unit_test(test_bool_takes_numbers_and_words),
		cmocka_unit_test(test_text_that_is_no_bool_is_refused),
		cmocka_unit_test(test_workers_take_turns),
		cmocka_unit_test(test_what_is_no_list_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
