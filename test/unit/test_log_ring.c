/* test_log_ring.c - the end of the log: the newest lines, cut and escaped.
 * SPDX-License-Identifier: ISC */
#include "http/log_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log_line.h"
#include "proto/writer.h"

static struct log_ring *r;
static struct writer w;

static int start(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	r = log_ring_new(3);
	writer_init(&w, 1 << 20);
	return r == NULL ? -1 : 0;
}

static int stop(void **state)
{
	(void)state;
	log_ring_free(&r);
	writer_fini(&w);
	return 0;
}

static void put(enum log_level level, const char *text)
{
	log_ring_put(r, &(struct log_line){ .level = level, .raw = "",
	    .cooked = text, .when = { .tv_sec = 60 } });
}

static const char *written(uint64_t since)
{
	writer_fini(&w);
	log_ring_write(r, since, &w);
	writer_u8(&w, '\0');
	assert_false(w.failed);
	return (const char *)w.at;
}

#define LINE(n, level, text) "{\"number\":" n \
	",\"time\":\"1970-01-01T00:01:00.000+00:00\",\"level\":\"" level \
	"\",\"text\":\"" text "\"}"

static void test_newest_lines_are_kept_in_order(void **state)
{
	(void)state;
	assert_string_equal(written(0), "[]\n");
	put(LEVEL_INFO, "one");
	put(LEVEL_WARNING, "two");
	assert_string_equal(written(0), "[\n" LINE("1", "LOG", "one") ",\n"
	    LINE("2", "WARNING", "two") "\n]\n");
	put(LEVEL_ERROR, "three");
	put(LEVEL_INFO, "four");
	assert_string_equal(written(0), "[\n" LINE("2", "WARNING", "two")
	    ",\n" LINE("3", "ERROR", "three") ",\n" LINE("4", "LOG", "four")
	    "\n]\n");
}

static void test_only_newer_lines_are_told(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		put(LEVEL_INFO, "x");
	assert_string_equal(written(9), "[\n" LINE("10", "LOG", "x") "\n]\n");
	assert_string_equal(written(10), "[]\n");
	assert_string_equal(written(UINT64_MAX), "[]\n");
}

static void test_debug_lines_are_not_kept(void **state)
{
	(void)state;
	put(LEVEL_DEBUG, "x");
	put(LEVEL_NOISE, "x");
	assert_string_equal(written(0), "[]\n");
}

static void test_no_control_byte_is_told(void **state)
{
	(void)state;
	put(LEVEL_INFO, "a\n\tb\xff\"</script>");
	assert_string_equal(written(0), "[\n" LINE("1", "LOG",
	    "a\\u000a\\u0009b\\ufffd\\\"</script>") "\n]\n");
}

static void test_long_line_is_cut_between_characters(void **state)
{
	char text[2048] = "", expected[sizeof text + 8];

	(void)state;
	/* 511 bytes, and one character of two */
	memset(text, 'x', LOG_RING_TEXT - 1);
	memcpy(text + LOG_RING_TEXT - 1, "\xc3\xa4", 3);
	put(LEVEL_INFO, text);
	text[LOG_RING_TEXT - 1] = '\0';
	snprintf(expected, sizeof expected, "\"%s...\"}", text);
	assert_non_null(strstr(written(0), expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    test_newest_lines_are_kept_in_order, start, stop),
		cmocka_unit_test_setup_teardown(test_only_newer_lines_are_told,
		    start, stop),
		cmocka_unit_test_setup_teardown(test_debug_lines_are_not_kept,
		    start, stop),
		cmocka_unit_test_setup_teardown(test_no_control_byte_is_told,
		    start, stop),
		cmocka_unit_test_setup_teardown(
		    test_long_line_is_cut_between_characters, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
