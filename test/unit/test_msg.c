/* test_msg.c - the 5-byte header.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/msg.h"

static void test_numbers_survive_the_header(void **state)
{
	(void)state;

	uint8_t p[4];

	msg_put_u32(p, 0xfedcba98);
	assert_int_equal(p[0], 0xfe);
	assert_int_equal(p[3], 0x98);
	assert_int_equal(msg_u32(p), 0xfedcba98);
}

static void test_size_counts_the_type(void **state)
{
	(void)state;

	assert_int_equal(msg_size((const uint8_t *)"S\0\0\0\4", 100), 5);
	assert_int_equal(msg_size((const uint8_t *)"S\0\0\0\144", 100), 101);
}

static void test_impossible_lengths_have_size_zero(void **state)
{
	(void)state;

	assert_int_equal(msg_size((const uint8_t *)"S\0\0\0\0", 100), 0);
	assert_int_equal(msg_size((const uint8_t *)"S\0\0\0\3", 100), 0);
	assert_int_equal(msg_size((const uint8_t *)"S\0\0\0\145", 100), 0);
	assert_int_equal(msg_size((const uint8_t *)"S\xff\xff\xff\xff", 100),
	    0);
	assert_int_equal(msg_size((const uint8_t *)"S\200\0\0\0", INT32_MAX),
	    0);
}

static void test_run_ends_before_another_type_or_a_cut(void **state)
{
	(void)state;

	const uint8_t p[] = "D\0\0\0\4D\0\0\0\6xxD\0\0\0\4C\0\0\0\4";

	assert_int_equal(msg_run(p, 22, 100), 17);
	assert_int_equal(msg_run(p, 16, 100), 12);
	assert_int_equal(msg_run(p, 11, 100), 5);
	assert_int_equal(msg_run(p, 9, 100), 5);
	assert_int_equal(msg_run(p, 4, 100), 0);
	assert_int_equal(msg_run(p, 0, 100), 0);
	assert_int_equal(msg_run(p + 17, 5, 100), 5);
}

static void test_run_ends_before_an_impossible_length(void **state)
{
	(void)state;

	const uint8_t p[] = "D\0\0\0\4D\0\0\0\3D\0\0\0\4";

	assert_int_equal(msg_run(p, 15, 100), 5);
	assert_int_equal(msg_run(p + 5, 10, 100), 0);
	assert_int_equal(msg_run(p, 15, 3), 0);
}

static void test_types_are_the_bytes_of_the_protocol(void **state)
{
	(void)state;

	assert_int_equal(FE_QUERY, 'Q');
	assert_int_equal(FE_SYNC, 'S');
	assert_int_equal(BE_PARAMETER_STATUS, 'S');
	assert_int_equal(BE_READY_FOR_QUERY, 'Z');
	assert_int_equal(BE_ERROR_RESPONSE, 'E');
}

static void test_bad_header_shows_eight_bytes_at_most(void **state)
{
	const uint8_t p[] = { 1, 2, 0xfe, 4, 5, 6, 7, 8, 9 };
	char text[MSG_BAD_TEXT];

	(void)state;
	assert_string_equal(msg_bad_header(p, sizeof p, text),
	    "bad packet header: '0102fe0405060708'");
	assert_string_equal(msg_bad_header(p, 2, text),
	    "bad packet header: '0102'");
	assert_string_equal(msg_bad_header(p, 0, text),
	    "bad packet header: ''");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_header_shows_eight_bytes_at_most),
		cmocka_unit_test(test_numbers_survive_the_header),
		cmocka_unit_test(test_size_counts_the_type),
		cmocka_unit_test(test_impossible_lengths_have_size_zero),
		cmocka_unit_test(test_run_ends_before_another_type_or_a_cut),
		cmocka_unit_test(test_run_ends_before_an_impossible_length),
		cmocka_unit_test(test_types_are_the_bytes_of_the_protocol),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
