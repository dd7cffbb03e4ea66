/* test_writer.c - messages are built, and failures stick.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/writer.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_in_network_order),
		cmocka_unit_test(test_length_counts_itself_but_not_the_type),
		cmocka_unit_test(test_common_messages_are_whole),
		cmocka_unit_test(test_growing_keeps_what_was_written),
		cmocka_unit_test(test_cap_is_reached_but_not_passed),
		cmocka_unit_test(test_failure_sticks_and_open_message_can_end),
		cmocka_unit_test(test_every_failed_allocation_sticks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
