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
#include "verifier_test.h"

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
	assert_true(verifier_matches(v, "pencil"));
	assert_ptr_equal(credentials_verifier(c, 8), v);
	credentials_unref(&c);
}

static struct scram_salt salt16(int iterations)
{
	return (struct scram_salt){ salt, sizeof salt, iterations };
}

/* Keys of "pencil" for s. */
static struct scram_keys derived(struct scram_salt s)
{
	struct scram_keys k;

	assert_int_equal(scram_keys_derive(&k, "pencil", s.at, s.len,
	    s.iterations), 0);
	return k;
}

static int put_verifier(struct credentials *c, int iterations)
{
	const struct scram_salt s = salt16(iterations);
	const struct scram_keys k = derived(s);

	return credentials_put_verifier(c, &k, &s);
}

static void put_keys(struct credentials *c, struct scram_salt s)
{
	const struct scram_keys k = derived(s);

	credentials_put_keys(c, &k, &s);
}

static void test_verifier_of_a_plain_secret_is_kept(void **state)
{
	struct credentials *c = credentials_new("pencil");

	(void)state;
	assert_null(credentials_verifier(c, 4));
	assert_int_equal(put_verifier(c, 4), 0);
	const struct scram_verifier *v = credentials_verifier(c, 4);

	assert_non_null(v);
	assert_int_equal(v->salt_len, sizeof salt);
	assert_memory_equal(v->salt, salt, sizeof salt);
	assert_true(verifier_matches(v, "pencil"));
	assert_ptr_equal(credentials_verifier(c, 4), v);

	/* all users show the same count */
	assert_null(credentials_verifier(c, 5));
	assert_int_equal(put_verifier(c, 5), 0);
	assert_int_equal(credentials_verifier(c, 5)->iterations, 5);
	assert_null(credentials_verifier(c, 4));
	credentials_unref(&c);
}

static void test_no_verifier_without_a_password(void **state)
{
	static const char *const secrets[] = { "", MD5_SECRET };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct credentials *c = credentials_new(secrets[i]);

		assert_int_equal(put_verifier(c, 4), -1);
		assert_null(credentials_verifier(c, 4));
		credentials_unref(&c);
	}
}

static void test_keys_of_a_plain_secret_follow_the_salt(void **state)
{
	struct credentials *c = credentials_new("pencil");

	(void)state;
	for (int iterations = 4; iterations < 6; iterations++) {
		for (size_t len = 8; len <= 16; len += 8) {
			const struct scram_salt s = { salt, len, iterations };
			const struct scram_keys want = derived(s);

			assert_null(credentials_keys(c, &s));
			put_keys(c, s);
			const struct scram_keys *k = credentials_keys(c, &s);

			assert_non_null(k);
			assert_memory_equal(k, &want, sizeof want);
		}
	}
	/* a salt of the same length that differs */
	const struct scram_salt other = { (const uint8_t *)"0123456789abcdeX",
	    16, 5 };
	assert_null(credentials_keys(c, &other));
	credentials_unref(&c);
}

/* Several servers, each with a salt of its own, share one password. */
static void test_keys_for_many_salts_are_remembered(void **state)
{
	struct credentials *c = credentials_new("pencil");
	struct scram_salt s;

	(void)state;
	for (int i = 1; i <= CREDENTIALS_SALTS; i++)
		put_keys(c, salt16(i));
	s = salt16(1);
	assert_non_null(credentials_keys(c, &s));
	/* that of 2 is the one not used for longest */
	put_keys(c, salt16(CREDENTIALS_SALTS + 1));
	for (int i = 1; i <= CREDENTIALS_SALTS + 1; i++) {
		s = salt16(i);
		if (i == 2)
			assert_null(credentials_keys(c, &s));
		else
			assert_non_null(credentials_keys(c, &s));
	}
	credentials_unref(&c);
}

static void test_no_keys_without_a_password(void **state)
{
	static const char *const secrets[] = { "", MD5_SECRET, SCRAM_SECRET };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct credentials *c = credentials_new(secrets[i]);

		const struct scram_salt any = salt16(4);

		put_keys(c, any);
		assert_null(credentials_keys(c, &any));
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
		const struct scram_salt any = salt16(4);
		const struct scram_keys *k = credentials_keys(c, &any);

		assert_non_null(k);
		assert_memory_equal(k, &want, sizeof want);
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
	assert_null(scram->learned);
	assert_non_null(credentials_verifier(scram, 4));
	credentials_learn(scram, wrong);
	assert_null(scram->learned);

	assert_int_equal(put_verifier(plain, 4), 0);
	k = derived(salt16(4));
	credentials_learn(plain, k.client_key);
	assert_null(plain->learned);
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
	const struct scram_salt s = salt16(4);
	const struct scram_keys kept = derived(s);

	mem_fail_at(1);
	assert_int_equal(credentials_put_verifier(c, &kept, &s), -1);
	mem_fail_at(0);
	assert_null(credentials_verifier(c, 4));
	mem_fail_at(1);
	credentials_put_keys(c, &kept, &s);
	mem_fail_at(0);
	assert_null(credentials_keys(c, &s));
	credentials_unref(&c);

	c = credentials_new(SCRAM_SECRET);
	pencil_keys(c, &k);
	mem_fail_at(1);
	credentials_learn(c, k.client_key);
	mem_fail_at(0);
	assert_null(c->learned);
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
		cmocka_unit_test(test_keys_for_many_salts_are_remembered),
		cmocka_unit_test(test_no_keys_without_a_password),
		cmocka_unit_test(test_learned_keys_stay),
		cmocka_unit_test(test_keys_of_others_are_not_learned),
		cmocka_unit_test(test_each_failed_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
