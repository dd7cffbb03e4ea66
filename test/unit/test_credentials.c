/* test_credentials.c - what is derived from a secret, and how long it is kept.
 * SPDX-License-Identifier: ISC */
#include "pool/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define ITERATIONS 4096

/* RFC 7677's user: password "pencil" */
#define SCRAM_SECRET "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==" \
	"$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=" \
	":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
#define MD5_SECRET "md50123456789abcdef0123456789abcdef"

static const uint8_t salt[16] = "0123456789abcde";

static void test_kind_is_told_by_the_secret(void **state)
{
	static const struct {
		const char *secret;
		enum secret_kind kind;
	} rows[] = {
		{ "", SECRET_NONE },
		{ "pencil", SECRET_PLAIN },
		{ MD5_SECRET, SECRET_MD5 },
		{ SCRAM_SECRET, SECRET_SCRAM },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct credentials *c = credentials_new(rows[i].secret);

		assert_non_null(c);
		assert_int_equal(c->kind, rows[i].kind);
		assert_string_equal(c->secret, rows[i].secret);
		credentials_unref(&c);
		assert_null(c);
	}
}

static void test_last_reference_frees(void **state)
{
	const size_t before = mem_stat(MEM_CREDENTIALS)->used;
	struct credentials *a = credentials_new("pencil"), *b;

	(void)state;
	b = credentials_ref(a);
	assert_ptr_equal(a, b);
	credentials_unref(&a);
	assert_string_equal(b->secret, "pencil");
	assert_int_equal(mem_stat(MEM_CREDENTIALS)->used, before + 1);
	credentials_unref(&b);
	assert_int_equal(mem_stat(MEM_CREDENTIALS)->used, before);
	credentials_unref(&b);
}

static void test_verifier_of_a_scram_secret_is_the_stored_one(void **state)
{
	struct credentials *c = credentials_new(SCRAM_SECRET);
	const struct scram_verifier *v = credentials_verifier(c, 7);

	(void)state;
	assert_non_null(v);
	assert_int_equal(v->iterations, ITERATIONS);
	assert_true(scram_verifier_matches(v, "pencil"));
	assert_ptr_equal(credentials_verifier(c, 8), v);
	credentials_unref(&c);
}

static void test_verifier_of_a_plain_secret_is_kept(void **state)
{
	struct credentials *c = credentials_new("pencil");
	const struct scram_verifier *v = credentials_verifier(c, 4);
	uint8_t first[SCRAM_SALT_BYTES];

	(void)state;
	assert_non_null(v);
	assert_int_equal(v->salt_len, SCRAM_SALT_BYTES);
	assert_true(scram_verifier_matches(v, "pencil"));
	memcpy(first, v->salt, sizeof first);
	v = credentials_verifier(c, 4);
	assert_memory_equal(v->salt, first, sizeof first);

	v = credentials_verifier(c, 5);
	assert_int_equal(v->iterations, 5);
	assert_true(scram_verifier_matches(v, "pencil"));
	credentials_unref(&c);
}

static void test_no_verifier_without_a_password(void **state)
{
	static const char *const secrets[] = { "", MD5_SECRET };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct credentials *c = credentials_new(secrets[i]);

		assert_null(credentials_verifier(c, 4));
		credentials_unref(&c);
	}
}

static void test_keys_of_a_plain_secret_follow_the_salt(void **state)
{
	struct credentials *c = credentials_new("pencil");
	struct scram_keys want;

	(void)state;
	for (int iterations = 4; iterations < 6; iterations++) {
		for (size_t len = 8; len <= 16; len += 8) {
			const struct scram_keys *k = credentials_keys(c, salt,
			    len, iterations);

			assert_non_null(k);
			assert_int_equal(scram_keys_derive(&want, "pencil",
			    salt, len, iterations), 0);
			assert_memory_equal(k, &want, sizeof want);
			assert_ptr_equal(credentials_keys(c, salt, len,
			    iterations), k);
		}
	}
	/* a salt of the same length that differs */
	assert_non_null(credentials_keys(c, "0123456789abcdeX", 16, 5));
	assert_memory_not_equal(c->keys, &want, sizeof want);
	assert_null(credentials_keys(c, salt, 16, 0));
	assert_null(c->keys);
	credentials_unref(&c);
}

static void test_no_keys_without_a_password(void **state)
{
	static const char *const secrets[] = { "", MD5_SECRET, SCRAM_SECRET };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct credentials *c = credentials_new(secrets[i]);

		assert_null(credentials_keys(c, salt, 16, 4));
		credentials_unref(&c);
	}
}

/* ClientKey of "pencil" for the salt of SCRAM_SECRET. */
static void pencil_keys(struct credentials *c, struct scram_keys *k)
{
	const struct scram_verifier *v = credentials_verifier(c, 4);

	assert_non_null(v);
	assert_int_equal(scram_keys_derive(k, "pencil", v->salt, v->salt_len,
	    v->iterations), 0);
}

static void test_learned_keys_stay(void **state)
{
	struct credentials *c = credentials_new(SCRAM_SECRET);
	struct scram_keys want;

	(void)state;
	pencil_keys(c, &want);
	credentials_learn(c, want.client_key);
	for (int i = 0; i < 2; i++) {
		assert_non_null(credentials_keys(c, salt, 16, 4));
		assert_memory_equal(c->keys, &want, sizeof want);
		credentials_learn(c, want.client_key);
	}
	credentials_unref(&c);
}

static void test_keys_of_others_are_not_learned(void **state)
{
	const uint8_t wrong[SHA256_BYTES] = { 1 };
	struct credentials *scram = credentials_new(SCRAM_SECRET);
	struct credentials *plain = credentials_new("pencil");
	struct scram_keys k;

	(void)state;
	credentials_learn(scram, wrong);	/* no verifier yet */
	assert_null(scram->keys);
	assert_non_null(credentials_verifier(scram, 4));
	credentials_learn(scram, wrong);
	assert_null(scram->keys);

	pencil_keys(plain, &k);
	credentials_learn(plain, k.client_key);
	assert_null(plain->keys);
	credentials_unref(&scram);
	credentials_unref(&plain);
}

static void test_each_failed_allocation_is_survived(void **state)
{
	struct credentials *c = NULL;
	struct scram_keys k;
	unsigned long n = 0;

	(void)state;
	do {
		mem_fail_at(++n);
		c = credentials_new("pencil");
		mem_fail_at(0);
	} while (c == NULL);
	assert_true(n > 2);
	for (n = 1;; n++) {
		mem_fail_at(n);
		const bool ok = credentials_verifier(c, 4) != NULL;
		mem_fail_at(0);
		if (ok)
			break;
	}
	assert_true(n > 1);
	for (n = 1;; n++) {
		mem_fail_at(n);
		const bool ok = credentials_keys(c, salt, 16, 4) != NULL;
		mem_fail_at(0);
		if (ok)
			break;
		assert_null(c->keys);
		assert_null(c->keys_salt);
	}
	assert_true(n > 2);
	credentials_unref(&c);

	c = credentials_new(SCRAM_SECRET);
	pencil_keys(c, &k);
	mem_fail_at(1);
	credentials_learn(c, k.client_key);
	mem_fail_at(0);
	assert_null(c->keys);
	credentials_unref(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kind_is_told_by_the_secret),
		cmocka_unit_test(test_last_reference_frees),
		cmocka_unit_test(
		    test_verifier_of_a_scram_secret_is_the_stored_one),
		cmocka_unit_test(test_verifier_of_a_plain_secret_is_kept),
		cmocka_unit_test(test_no_verifier_without_a_password),
		cmocka_unit_test(test_keys_of_a_plain_secret_follow_the_salt),
		cmocka_unit_test(test_no_keys_without_a_password),
		cmocka_unit_test(test_learned_keys_stay),
		cmocka_unit_test(test_keys_of_others_are_not_learned),
		cmocka_unit_test(test_each_failed_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
