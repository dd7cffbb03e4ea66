/* test_reader.c - a cursor over received bytes.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/reader.h"

static void test_numbers_are_in_network_order(void **state)
{
	(void)state;

	static const uint8_t in[] = { 1, 2, 3, 0xff, 0xfe, 0xfd, 0xfc };
	struct reader r;

	reader_init(&r, in, sizeof in);
	assert_int_equal(reader_u8(&r), 1);
	assert_int_equal(reader_u16(&r), 0x0203);
	assert_int_equal(reader_u32(&r), 0xfffefdfc);
	assert_int_equal(reader_left(&r), 0);
	assert_false(r.failed);
}

static void test_a_short_read_fails_and_stays_failed(void **state)
{
	(void)state;

	static const uint8_t in[] = { 1, 2, 3 };
	struct reader r;

	reader_init(&r, in, sizeof in);
	assert_int_equal(reader_u32(&r), 0);
	assert_true(r.failed);
	assert_int_equal(reader_u8(&r), 0);
	assert_int_equal(reader_u16(&r), 0);
	assert_null(reader_str(&r));
	assert_null(reader_bytes(&r, 1));
	assert_null(reader_bytes(&r, 0));
	assert_int_equal(reader_left(&r), 3);
}

static void test_strings_end_inside_the_buffer(void **state)
{
	(void)state;

	struct reader r;

	reader_init(&r, "ann\0\0bob", 8);
	assert_string_equal(reader_str(&r), "ann");
	assert_string_equal(reader_str(&r), "");
	assert_null(reader_str(&r));
	assert_true(r.failed);
}

static void test_string_after_a_failure_is_null(void **state)
{
	(void)state;

	struct reader r;

	reader_init(&r, "ann", 4);
	assert_int_equal(reader_bytes(&r, 5) == NULL, 1);
	assert_null(reader_str(&r));
}

static void test_bytes_are_borrowed(void **state)
{
	(void)state;

	static const char in[] = "abcd";
	struct reader r;

	reader_init(&r, in, 4);
	assert_ptr_equal(reader_bytes(&r, 2), in);
	assert_ptr_equal(reader_bytes(&r, 0), in + 2);
	assert_ptr_equal(reader_bytes(&r, 2), in + 2);
	assert_null(reader_bytes(&r, SIZE_MAX));
	assert_true(r.failed);
}

static void test_nothing_to_read_is_no_failure_yet(void **state)
{
	(void)state;

	struct reader r;

	reader_init(&r, NULL, 0);
	assert_int_equal(reader_left(&r), 0);
	assert_non_null(reader_bytes(&r, 0));
	assert_false(r.failed);
	assert_int_equal(reader_u8(&r), 0);
	assert_true(r.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_in_network_order),
		cmocka_unit_test(test_a_short_read_fails_and_stays_failed),
		cmocka_unit_test(test_strings_end_inside_the_buffer),
		cmocka_unit_test(test_string_after_a_failure_is_null),
		cmocka_unit_test(test_bytes_are_borrowed),
		cmocka_unit_test(test_nothing_to_read_is_no_failure_yet),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
