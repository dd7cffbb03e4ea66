/* test_cancel_key.c - the layout that peers agree on.
 * SPDX-License-Identifier: ISC */
#include "proto/cancel_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_without_peering_only_the_sign_is_cleared(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0xff, sizeof key);
	cancel_key_stamp(key, 0);
	assert_memory_equal(key, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8);
	memset(key, 0, sizeof key);
	cancel_key_stamp(key, 0);
	assert_memory_equal(key, "\0\0\0\0\0\0\0\0", 8);
}

static void test_stamp_puts_id_low_byte_first_and_a_full_budget(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0x80, sizeof key);
	cancel_key_stamp(key, 0x1234);
	assert_memory_equal(key, "\x00\x34\x12\x80\x80\x80\x80\x83", 8);
}

static void test_peer_is_read_back_over_the_whole_range(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES] = { 0 };

	(void)state;
	for (int id = 1; id <= 65535; id++) {
		cancel_key_stamp(key, id);
		assert_int_equal(cancel_key_peer(key), id);
	}
}

static void test_worker_stands_beside_the_peer(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0x80, sizeof key);
	cancel_key_stamp(key, 0x1234);
	cancel_key_set_worker(key, 63);
	assert_int_equal(cancel_key_worker(key), 63);
	assert_int_equal(cancel_key_peer(key), 0x1234);
	assert_memory_equal(key, "\x00\x34\x12\x3f\x80\x80\x80\x83", 8);
}

static void test_budget_is_three_hops(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];
	uint8_t before[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0xa8, sizeof key);
	cancel_key_stamp(key, 7);
	memcpy(before, key, sizeof key);
	for (int hop = 1; hop <= 3; hop++) {
		assert_true(cancel_key_spend(key));
		assert_int_equal(key[7], 0xab - hop);
		assert_memory_equal(key, before, 7);
	}
	assert_false(cancel_key_spend(key));
	assert_int_equal(key[7], 0xa8);
	cancel_key_restore(key);
	assert_memory_equal(key, before, sizeof key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_peering_only_the_sign_is_cleared),
		cmocka_unit_test(
		    test_stamp_puts_id_low_byte_first_and_a_full_budget),
		cmocka_unit_test(test_peer_is_read_back_over_the_whole_range),
		cmocka_unit_test(test_worker_stands_beside_the_peer),
		cmocka_unit_test(test_budget_is_three_hops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
