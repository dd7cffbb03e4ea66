/* test_ring.c - records arrive whole and in order.
 * SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/ring.h"

#define MANY 200000

static void test_records_come_out_as_they_went_in(void **state)
{
	struct ring r;
	char buf[16] = "";
	size_t n;
	int tag;

	(void)state;
	assert_int_equal(ring_init(&r, 256), 0);
	assert_true(ring_is_empty(&r));
	assert_false(ring_peek(&r, &tag, &n));
	assert_true(ring_put(&r, 7, "abc", 3));
	assert_true(ring_put(&r, -1, "", 0));
	assert_false(ring_is_empty(&r));
	assert_true(ring_peek(&r, &tag, &n));
	assert_int_equal(tag, 7);
	assert_int_equal(n, 3);
	ring_take(&r, buf, n);
	assert_string_equal(buf, "abc");
	assert_true(ring_peek(&r, &tag, &n));
	assert_int_equal(tag, -1);
	assert_int_equal(n, 0);
	ring_take(&r, buf, n);
	assert_true(ring_is_empty(&r));
	ring_fini(&r);
}

static void test_what_does_not_fit_is_refused_and_harms_nothing(void **state)
{
	char big[512], buf[512];
	struct ring r;
	size_t n;
	int tag, count = 0;

	(void)state;
	memset(big, 'x', sizeof big);
	assert_int_equal(ring_init(&r, 256), 0);
	assert_false(ring_put(&r, 1, big, 256));
	assert_false(ring_put(&r, 1, big, sizeof big));
	assert_true(ring_is_empty(&r));
	while (ring_put(&r, 2, "0123456789", 10))
		count++;
	assert_in_range(count, 5, 25);
	for (; count > 0; count--) {
		assert_true(ring_peek(&r, &tag, &n));
		ring_take(&r, buf, n);
		assert_memory_equal(buf, "0123456789", 10);
	}
	assert_true(ring_is_empty(&r));
	ring_fini(&r);
}

static void test_no_memory_is_told(void **state)
{
	struct ring r;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(ring_init(&r, 256), -1);
	mem_fail_at(0);
	ring_fini(&r);
}

/* Record i: its number, and as many bytes more as its last digits say. */
static void *produce(void *arg)
{
	char buf[64];

	for (uint32_t i = 0; i < MANY;) {
		memset(buf, (int)(i & 0x7f), sizeof buf);
		memcpy(buf, &i, sizeof i);
		if (ring_put(arg, (int)i, buf, sizeof i + i % 50))
			i++;
	}
	return NULL;
}

static void test_two_threads_agree(void **state)
{
	struct ring r;
	pthread_t t;
	char buf[64];
	uint32_t got;
	size_t n;
	int tag;

	(void)state;
	assert_int_equal(ring_init(&r, 1024), 0);
	assert_int_equal(pthread_create(&t, NULL, produce, &r), 0);
	for (uint32_t i = 0; i < MANY;) {
		if (!ring_peek(&r, &tag, &n))
			continue;
		assert_int_equal(tag, i);
		assert_int_equal(n, sizeof i + i % 50);
		ring_take(&r, buf, n);
		memcpy(&got, buf, sizeof got);
		assert_int_equal(got, i);
		for (size_t at = sizeof got; at < n; at++)
			assert_int_equal(buf[at], i & 0x7f);
		i++;
	}
	pthread_join(t, NULL);
	assert_true(ring_is_empty(&r));
	ring_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_come_out_as_they_went_in),
		cmocka_unit_test(
		    test_what_does_not_fit_is_refused_and_harms_nothing),
		cmocka_unit_test(test_no_memory_is_told),
		cmocka_unit_test(test_two_threads_agree),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
