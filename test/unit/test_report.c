/* test_report.c - ErrorResponse and NoticeResponse.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/report.h"
#include "proto/writer.h"

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
