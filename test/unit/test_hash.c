/* test_hash.c - the hash of all maps: every byte counts, buckets are even.
 * SPDX-License-Identifier: ISC */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define KEY_BYTES 32
#define BUCKETS 1024
#define KEYS (8 * BUCKETS)
#define MOST 32		/* in a bucket that has 8 on average */

static void test_same_bytes_have_same_hash(void **state)
{
	char text[32];

	(void)state;
	/* wherever they are */
	for (size_t at = 0; at < 8; at++) {
		memcpy(text + at, "some name", 9);
		assert_int_equal(hash_bytes(text + at, 9),
		    hash_bytes("some name", 9));
	}
}

static void test_every_bit_counts(void **state)
{
	uint8_t key[40] = { 0 };

	(void)state;
	for (size_t len = 1; len <= sizeof key; len++) {
		const unsigned zero = hash_bytes(key, len);

		for (size_t bit = 0; bit < 8 * len; bit++) {
			key[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_not_equal(hash_bytes(key, len), zero);
			key[bit / 8] = 0;
		}
	}
}

static void test_length_counts(void **state)
{
	const uint8_t key[40] = { 0 };

	(void)state;
	for (size_t a = 0; a <= sizeof key; a++)
		for (size_t b = a + 1; b <= sizeof key; b++)
			assert_int_not_equal(hash_bytes(key, a),
			    hash_bytes(key, b));
}

/* key i of a kind that people use; returns its length */
typedef size_t key_fn(uint8_t *key, unsigned i);

static size_t numbered_name(uint8_t *key, unsigned i)
{
	return (size_t)snprintf((char *)key, KEY_BYTES, "user%u", i);
}

static size_t padded_name(uint8_t *key, unsigned i)
{
	return (size_t)snprintf((char *)key, KEY_BYTES, "%08u_statement", i);
}

static size_t number(uint8_t *key, unsigned i)
{
	memcpy(key, &i, sizeof i);
	return sizeof i;
}

static size_t pointers(uint8_t *key, unsigned i)
{
	const uintptr_t p[] = { 0x555500000000 + 64 * i,
		0x7fff00000000 - 4096 * i };

	memcpy(key, p, sizeof p);
	return sizeof p;
}

static void test_buckets_are_even(void **state)
{
	static key_fn *const kinds[] = { numbered_name, padded_name, number,
		pointers };

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		unsigned count[BUCKETS] = { 0 };

		for (unsigned i = 0; i < KEYS; i++) {
			uint8_t key[KEY_BYTES];
			const size_t len = kinds[k](key, i);

			/* as uthash takes it: by the low bits */
			count[hash_bytes(key, len) % BUCKETS]++;
		}
		for (unsigned b = 0; b < BUCKETS; b++)
			assert_in_range(count[b], 0, MOST);
	}
}

/* the last test: the seed stays */
static void test_seed_decides(void **state)
{
	const unsigned before = hash_bytes("name", 4);
	unsigned other = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		hash_seed();
		other += hash_bytes("name", 4) != before;
	}
	assert_true(other > 0);
}

static void test_equal_strings_are_one(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	char copy[] = "shop";
	const char *a = intern_get(t, "shop"), *b = intern_get(t, copy);

	assert_string_equal(a, "shop");
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, copy);
	intern_put(t, a);
	assert_string_equal(b, "shop");
	intern_put(t, b);
	intern_free(&t);
}

static void test_different_strings_differ(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	const char *a = intern_get(t, "shop"), *b = intern_get(t, "sho");
	const char *c = intern_get(t, "");

	assert_ptr_not_equal(a, b);
	assert_ptr_not_equal(b, c);
	assert_string_equal(c, "");
	intern_free(&t);
	assert_null(t);
	intern_free(&t);
}

static void test_string_lives_until_its_last_reference(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	const char *a = intern_get(t, "shop");

	assert_ptr_equal(intern_ref(a), a);
	intern_put(t, a);
	assert_ptr_equal(intern_get(t, "shop"), a);
	intern_put(t, a);
	intern_put(t, a);
	intern_put(t, NULL);
	intern_free(&t);
}

static void test_many_strings_are_found_again(void **state)
{
	(void)state;

	struct intern *t = intern_new();
	const char *all[500];
	char name[16];

	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "user%d", i);
		all[i] = intern_get(t, name);
	}
	for (int i = 0; i < 500; i += 2)
		intern_put(t, all[i]);
	for (int i = 1; i < 500; i += 2) {
		snprintf(name, sizeof name, "user%d", i);
		assert_ptr_equal(intern_get(t, name), all[i]);
	}
	intern_free(&t);
}

/* Interns enough to make the table grow. False: an allocation failed. */
static bool fill(struct intern *t)
{
	char name[16];

	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "user%d", i);
		const char *s = intern_get(t, name);

		if (s == NULL)
			return false;
		assert_string_equal(s, name);
	}
	return true;
}

static void test_every_failed_allocation_is_survived(void **state)
{
	(void)state;

	bool complete = false;

	for (unsigned long nth = 1; !complete; nth++) {
		mem_fail_at(nth);
		struct intern *t = intern_new();

		complete = t != NULL && fill(t);
		const bool failed = mem_fail_at(0) >= nth;

		assert_int_equal(complete, !failed);
		if (t != NULL) /* and it works on */
			assert_true(fill(t));
		intern_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes_have_same_hash),
		cmocka_unit_test(test_every_bit_counts),
		cmocka_unit_test(test_length_counts),
		cmocka_unit_test(test_buckets_are_even),
		cmocka_unit_test(test_seed_decides),
		cmocka_unit_test(test_equal_strings_are_one),
		cmocka_unit_test(test_different_strings_differ),
		cmocka_unit_test(test_string_lives_until_its_last_reference),
		cmocka_unit_test(test_many_strings_are_found_again),
		cmocka_unit_test(test_every_failed_allocation_is_survived),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
