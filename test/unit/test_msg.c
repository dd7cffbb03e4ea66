/* test_msg.c - the 5-byte header.
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

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

static void assert_written(const struct writer *w, const char *p, size_t n)
{
	assert_false(w->failed);
	assert_int_equal(w->len, n);
	assert_memory_equal(w->at, p, n);
}

#define ASSERT_WRITTEN(w, s) assert_written(w, s, sizeof(s) - 1)

static void test_values_are_in_network_order(void **state)
{
	(void)state;

	struct writer w;

	writer_init(&w, 100);
	writer_u8(&w, 1);
	writer_u16(&w, 0x0203);
	writer_u32(&w, 0x04050607);
	writer_str(&w, "ab");
	writer_bytes(&w, "xyz", 2);
	writer_bytes(&w, NULL, 0);
	ASSERT_WRITTEN(&w, "\1\2\3\4\5\6\7ab\0xy");
	writer_fini(&w);
	assert_null(w.at);
}

static void test_length_counts_itself_but_not_the_type(void **state)
{
	(void)state;

	struct writer w;

	writer_init(&w, 100);
	writer_begin(&w, 'p');
	writer_str(&w, "pw");
	writer_end(&w);
	writer_begin(&w, 0);
	writer_u32(&w, 80877103);
	writer_end(&w);
	writer_begin(&w, 'H');
	writer_end(&w);
	ASSERT_WRITTEN(&w, "p\0\0\0\7pw\0\0\0\0\10\4\xd2\x16\x2fH\0\0\0\4");
	writer_fini(&w);
}

static void test_common_messages_are_whole(void **state)
{
	(void)state;

	struct writer w;

	writer_init(&w, 100);
	writer_ready(&w, 'T');
	writer_query(&w, "BEGIN");
	writer_parameter_status(&w, "a", "");
	ASSERT_WRITTEN(&w,
	    "Z\0\0\0\5T"
	    "Q\0\0\0\12BEGIN\0"
	    "S\0\0\0\7a\0\0");
	writer_fini(&w);
}

static void test_growing_keeps_what_was_written(void **state)
{
	(void)state;

	struct writer w;

	writer_init(&w, 1 << 20);
	for (uint32_t i = 0; i < 10000; i++)
		writer_u32(&w, i);
	assert_false(w.failed);
	assert_int_equal(w.len, 40000);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(msg_u32(w.at + 4 * i), i);
	writer_fini(&w);
}

static void test_cap_is_reached_but_not_passed(void **state)
{
	(void)state;

	struct writer w;

	writer_init(&w, 10);
	writer_bytes(&w, "0123456789", 10);
	assert_false(w.failed);
	assert_true(w.size <= 10);
	writer_u8(&w, 0);
	assert_true(w.failed);
	assert_int_equal(w.len, 10);
	writer_fini(&w);

	writer_init(&w, 0);
	writer_bytes(&w, "", 0);
	assert_false(w.failed);
	writer_u8(&w, 0);
	assert_true(w.failed);
	writer_fini(&w);
}

static void test_failure_sticks_and_open_message_can_end(void **state)
{
	(void)state;

	struct writer w;

	writer_init(&w, 8);
	writer_begin(&w, 'Q');
	writer_str(&w, "SELECT 1");
	assert_true(w.failed);
	writer_u8(&w, 0); /* would fit */
	writer_end(&w);
	writer_ready(&w, 'I');
	assert_true(w.failed);
	assert_int_equal(w.len, 5);
	writer_fini(&w);
	assert_false(w.failed);
	assert_int_equal(w.cap, 8);
}

static void test_every_failed_allocation_sticks(void **state)
{
	(void)state;

	bool complete = false;

	for (unsigned long nth = 1; !complete; nth++) {
		struct writer w;

		writer_init(&w, 1 << 16);
		mem_fail_at(nth);
		for (int i = 0; i < 1000; i++)
			writer_query(&w, "SELECT 1");
		const bool failed = mem_fail_at(0) >= nth;

		assert_int_equal(w.failed, failed);
		writer_query(&w, "SELECT 1");
		assert_int_equal(w.failed, failed);
		complete = !failed;
		writer_fini(&w);
	}
}

#define PARSE(r, s) report_parse(r, s, sizeof(s) - 1)

static void test_all_known_fields_are_found(void **state)
{
	(void)state;

	struct report r;

	assert_int_equal(PARSE(&r,
			     "SFEHLER\0VERROR\0C42601\0Mbad\0Dwhy\0"
			     "Hthen\0P7\0Fparser.c\0\0"),
	    0);
	assert_string_equal(r.severity, "ERROR");
	assert_string_equal(r.code, "42601");
	assert_string_equal(r.message, "bad");
	assert_string_equal(r.detail, "why");
	assert_string_equal(r.hint, "then");
}

static void test_severity_is_plain_whatever_the_order(void **state)
{
	(void)state;

	struct report r;

	assert_int_equal(PARSE(&r, "VERROR\0SFEHLER\0\0"), 0);
	assert_string_equal(r.severity, "ERROR");
	assert_int_equal(PARSE(&r, "SFEHLER\0\0"), 0);
	assert_string_equal(r.severity, "FEHLER");
}

/* CVE-2026-6666: a server that sends no SQLSTATE */
static void test_absent_fields_are_empty(void **state)
{
	(void)state;

	struct report r;

	assert_int_equal(PARSE(&r, "\0"), 0);
	assert_string_equal(r.severity, "");
	assert_string_equal(r.code, "");
	assert_string_equal(r.message, "");
	assert_string_equal(r.detail, "");
	assert_string_equal(r.hint, "");
}

static void test_broken_layouts_are_refused_with_strings_set(void **state)
{
	(void)state;

	static const struct {
		const char *p;
		size_t n;
	} bad[] = {
		{ "", 0 },
		{ "S", 1 },
		{ "Sx", 2 },
		{ "Sx\0", 3 },
		{ "Sx\0M", 4 },
		{ "Sx\0\0x", 5 },
		{ "\0\0", 2 },
	};
	struct report r;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		r = (struct report){ 0 };
		assert_int_equal(report_parse(&r, bad[i].p, bad[i].n), -1);
		assert_non_null(r.severity);
		assert_non_null(r.message);
	}
}

static void test_error_has_exactly_s_c_m(void **state)
{
	(void)state;

	static const char expected[] = "E\0\0\0\36SFATAL\0VFATAL\0C08P01\0Mno\0";
	struct writer w;

	writer_init(&w, 1000);
	report_write_error(&w, "FATAL", "08P01", "no");
	assert_int_equal(w.len, sizeof expected);
	assert_memory_equal(w.at, expected, sizeof expected);
	writer_fini(&w);
}

static void test_notice_has_a_detail_when_given(void **state)
{
	(void)state;

	static const char expected[] =
	    "N\0\0\0\40SNOTICE\0VNOTICE\0C00000\0Mhi\0"
	    "\0N\0\0\0\45SNOTICE\0VNOTICE\0C00000\0Mhi\0Dyou\0";
	struct writer w;

	writer_init(&w, 1000);
	report_write_notice(&w, "hi", NULL);
	report_write_notice(&w, "hi", "you");
	assert_int_equal(w.len, sizeof expected);
	assert_memory_equal(w.at, expected, sizeof expected);
	writer_fini(&w);
}

static void test_what_is_written_can_be_read(void **state)
{
	(void)state;

	struct writer w;
	struct report r;

	writer_init(&w, 1000);
	report_write_error(&w, "FATAL", "08P01", "no");
	assert_int_equal(report_parse(&r, w.at + 5, w.len - 5), 0);
	assert_string_equal(r.severity, "FATAL");
	assert_string_equal(r.code, "08P01");
	assert_string_equal(r.message, "no");
	writer_fini(&w);
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
		cmocka_unit_test(test_numbers_are_in_network_order),
		cmocka_unit_test(test_a_short_read_fails_and_stays_failed),
		cmocka_unit_test(test_strings_end_inside_the_buffer),
		cmocka_unit_test(test_string_after_a_failure_is_null),
		cmocka_unit_test(test_bytes_are_borrowed),
		cmocka_unit_test(test_nothing_to_read_is_no_failure_yet),
		cmocka_unit_test(test_values_are_in_network_order),
		cmocka_unit_test(test_length_counts_itself_but_not_the_type),
		cmocka_unit_test(test_common_messages_are_whole),
		cmocka_unit_test(test_growing_keeps_what_was_written),
		cmocka_unit_test(test_cap_is_reached_but_not_passed),
		cmocka_unit_test(test_failure_sticks_and_open_message_can_end),
		cmocka_unit_test(test_every_failed_allocation_sticks),
		cmocka_unit_test(test_all_known_fields_are_found),
		cmocka_unit_test(test_severity_is_plain_whatever_the_order),
		cmocka_unit_test(test_absent_fields_are_empty),
		cmocka_unit_test(
		    test_broken_layouts_are_refused_with_strings_set),
		cmocka_unit_test(test_error_has_exactly_s_c_m),
		cmocka_unit_test(test_notice_has_a_detail_when_given),
		cmocka_unit_test(test_what_is_written_can_be_read),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
