/* test_scram_verifier.c - stored verifiers and the keys of passwords.
 * SPDX-License-Identifier: ISC */
#include "scram_test.h"
#include "verifier_test.h"

/* ALTER ROLE ... PASSWORD 'pencil' on PostgreSQL 15 */
#define PG_SALT "cKrOuqWUPpNHQA7CoO5Thw=="
#define PG_STORED "l6aR4sMsyPFbRkE5YKyyZ7kbZSp+CNWGjYMuTZ06jf4="
#define PG_SERVER "xoXbi/e5drPfEnSxYyYKiOoy2ekzkDK8tKNf2nI+mWc="
#define PG_SECRET "SCRAM-SHA-256$4096:" PG_SALT "$" PG_STORED ":" PG_SERVER

static void test_verifier_of_postgresql_matches_its_password_only(void **state)
{
	struct scram_verifier v;

	(void)state;
	assert_int_equal(scram_verifier_parse(&v, PG_SECRET), 0);
	assert_int_equal(v.iterations, 4096);
	assert_int_equal(v.salt_len, SCRAM_SALT_BYTES);
	assert_true(verifier_matches(&v, "pencil"));
	assert_false(verifier_matches(&v, "Pencil"));
	assert_false(verifier_matches(&v, "pencil "));
	assert_false(verifier_matches(&v, ""));
}

static void test_derived_verifier_equals_the_parsed_one(void **state)
{
	struct scram_verifier parsed, v;

	(void)state;
	assert_int_equal(scram_verifier_parse(&parsed, PG_SECRET), 0);
	assert_int_equal(scram_verifier_derive(&v, "pencil", parsed.salt,
			     parsed.salt_len, 4096),
	    0);
	assert_memory_equal(v.stored_key, parsed.stored_key, SHA256_BYTES);
	assert_memory_equal(v.server_key, parsed.server_key, SHA256_BYTES);
	assert_memory_equal(v.salt, parsed.salt, sizeof v.salt);
	assert_int_equal(v.salt_len, parsed.salt_len);
	assert_int_equal(v.iterations, 4096);
}

static void test_verifier_is_written_as_it_was_read(void **state)
{
	struct scram_verifier v;

	(void)state;
	assert_int_equal(scram_verifier_parse(&v, PG_SECRET), 0);
	char *const text = scram_verifier_text(&v);
	assert_string_equal(text, PG_SECRET);
	secret_free(text);
}

static void test_verifier_derived_over_its_own_salt_keeps_it(void **state)
{
	struct scram_verifier v, w;

	(void)state;
	make_verifier(&v);
	w = v;
	assert_int_equal(scram_verifier_derive(&w, PASSWORD, w.salt, w.salt_len,
			     ITERATIONS),
	    0);
	assert_memory_equal(w.stored_key, v.stored_key, SHA256_BYTES);
	assert_memory_equal(w.salt, v.salt, v.salt_len);
}

/* The two spellings of e with acute are one password after SASLprep. */
static void test_verifier_matches_password_that_saslprep_makes_equal(
    void **state)
{
	struct scram_verifier v;

	(void)state;
	assert_int_equal(scram_verifier_derive(&v, "\xc3\xa9", salt16,
			     sizeof salt16, ITERATIONS),
	    0);
	assert_true(verifier_matches(&v, "e\xcc\x81"));
	assert_false(verifier_matches(&v, "e"));
}

static void test_malformed_secret_is_refused_and_leaves_zeros(void **state)
{
	static const char *const bad[] = {
		"",
		"SCRAM-SHA-256",
		"SCRAM-SHA-256$",
		"SCRAM-SHA-256$4096",
		"SCRAM-SHA-256$4096:" PG_SALT,
		"SCRAM-SHA-256$4096:" PG_SALT "$" PG_STORED,
		"SCRAM-SHA-256$4096:" PG_SALT "$" PG_STORED ":",
		"SCRAM-SHA-256$4096:$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$0:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$-1:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$+1:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$ 1:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$1x:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$10000001:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$4294967297:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$4096:====$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$4096:AAA$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-256$4096:" PG_SALT "$AAAA:" PG_SERVER,
		"SCRAM-SHA-256$4096:" PG_SALT "$" PG_STORED ":AAAA",
		"SCRAM-SHA-256$4096:" PG_SALT "$" PG_STORED "AAAA:" PG_SERVER,
		PG_SECRET " ",
		PG_SECRET "\n",
		PG_SECRET ":x",
		" " PG_SECRET,
		"scram-sha-256$4096:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"SCRAM-SHA-1$4096:" PG_SALT "$" PG_STORED ":" PG_SERVER,
		"md532e12f215ba27cb750c9e093ce4b5127",
	};
	static const struct scram_verifier zero;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct scram_verifier v;

		memset(&v, 'x', sizeof v);
		assert_int_equal(scram_verifier_parse(&v, bad[i]), -1);
		assert_memory_equal(&v, &zero, sizeof v);
	}
}

/* A secret whose salt has n bytes. */
static char *secret_with_salt(size_t n)
{
	uint8_t *salt = mem_zalloc(n);
	char *text = mem_alloc(CRYPTO_BASE64_SIZE(n));

	assert_non_null(salt);
	assert_non_null(text);
	crypto_base64_encode(salt, n, text);
	char *secret =
	    format("SCRAM-SHA-256$1:%s$" PG_STORED ":" PG_SERVER, text);
	mem_free(text);
	mem_free(salt);
	return secret;
}

static void test_salt_of_a_secret_is_bounded(void **state)
{
	struct scram_verifier v;
	char *fits = secret_with_salt(SCRAM_SALT_MAX);
	char *too_long = secret_with_salt(SCRAM_SALT_MAX + 1);
	char *far_too_long = secret_with_salt(2 * SCRAM_MESSAGE_MAX);

	(void)state;
	assert_int_equal(scram_verifier_parse(&v, fits), 0);
	assert_int_equal(v.salt_len, SCRAM_SALT_MAX);
	assert_int_equal(scram_verifier_parse(&v, too_long), -1);
	assert_int_equal(scram_verifier_parse(&v, far_too_long), -1);
	mem_free(fits);
	mem_free(too_long);
	mem_free(far_too_long);
}

static void test_derivation_beyond_a_limit_fails(void **state)
{
	static const uint8_t long_salt[SCRAM_SALT_MAX + 1];
	struct scram_verifier v;
	struct scram_keys k;

	(void)state;
	assert_int_equal(scram_verifier_derive(&v, "x", salt16, 0, 1), -1);
	assert_int_equal(scram_verifier_derive(&v, "x", salt16, 16, 0), -1);
	assert_int_equal(scram_verifier_derive(&v, "x", salt16, 16, -1), -1);
	assert_int_equal(scram_verifier_derive(&v, "x", salt16, 16,
			     SCRAM_ITERATIONS_MAX + 1),
	    -1);
	assert_int_equal(scram_verifier_derive(&v, "x", long_salt,
			     sizeof long_salt, 1),
	    -1);
	assert_int_equal(scram_keys_derive(&k, "x", long_salt, sizeof long_salt,
			     1),
	    -1);
	assert_int_equal(scram_keys_derive(&k, "x", long_salt,
			     sizeof long_salt - 1, 1),
	    0);
}

static void test_empty_password_makes_no_verifier(void **state)
{
	static const struct scram_verifier zero;
	struct scram_verifier v;
	struct scram_keys k;

	(void)state;
	memset(&v, 'x', sizeof v);
	assert_int_equal(scram_verifier_derive(&v, "", salt16, 16, 1), -1);
	assert_memory_equal(&v, &zero, sizeof v);
	/* a server may ask for it, and refuse */
	assert_int_equal(scram_keys_derive(&k, "", salt16, 16, 1), 0);
}

static void test_zeroed_verifier_matches_nothing(void **state)
{
	static const struct scram_verifier zero;

	(void)state;
	assert_false(verifier_matches(&zero, ""));
	assert_false(verifier_matches(&zero, "x"));
}

static const struct scram_shape usual = { 4096, SCRAM_SALT_BYTES };

static void test_mock_salt_depends_on_user_and_seed_only(void **state)
{
	static const uint8_t seed[SHA256_BYTES] = { 1 };
	static const uint8_t other_seed[SHA256_BYTES] = { 2 };
	static const struct scram_shape none = { 0, SCRAM_SALT_BYTES };
	static const struct scram_shape longer = { 4096, 80 };
	struct scram_verifier a, b, user, seeded;

	(void)state;
	assert_int_equal(scram_verifier_mock(&a, "joe", seed, &usual), 0);
	assert_int_equal(scram_verifier_mock(&b, "joe", seed, &usual), 0);
	assert_int_equal(scram_verifier_mock(&user, "jo", seed, &usual), 0);
	assert_int_equal(scram_verifier_mock(&seeded, "joe", other_seed, &usual),
	    0);
	assert_int_equal(a.salt_len, SCRAM_SALT_BYTES);
	assert_int_equal(a.iterations, 4096);
	assert_memory_equal(a.salt, b.salt, SCRAM_SALT_BYTES);
	assert_memory_not_equal(a.salt, user.salt, SCRAM_SALT_BYTES);
	assert_memory_not_equal(a.salt, seeded.salt, SCRAM_SALT_BYTES);
	assert_int_equal(scram_verifier_mock(&a, "joe", seed, &none), -1);
	assert_int_equal(scram_verifier_mock(&a, "joe", seed, &longer), 0);
	assert_int_equal(a.salt_len, 80);
	assert_memory_equal(a.salt, b.salt, SCRAM_SALT_BYTES);
	assert_memory_not_equal(a.salt, a.salt + 32, 32);
}

/* Without memory a password is never right. */
static void test_every_failed_allocation_ends_a_password_check(void **state)
{
	static const uint8_t seed[SHA256_BYTES];
	struct scram_verifier v, w;

	(void)state;
	make_verifier(&v);
	mem_fail_at(1);
	assert_false(verifier_matches(&v, PASSWORD));
	mem_fail_at(1);
	assert_int_equal(scram_verifier_derive(&w, PASSWORD, salt16,
			     sizeof salt16, ITERATIONS),
	    -1);
	mem_fail_at(1);
	assert_int_equal(scram_verifier_mock(&w, "joe", seed, &usual), -1);
	mem_fail_at(0);
	assert_true(verifier_matches(&v, PASSWORD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_verifier_of_postgresql_matches_its_password_only),
		cmocka_unit_test(test_derived_verifier_equals_the_parsed_one),
		cmocka_unit_test(test_verifier_is_written_as_it_was_read),
		cmocka_unit_test(
		    test_verifier_derived_over_its_own_salt_keeps_it),
		cmocka_unit_test(
		    test_verifier_matches_password_that_saslprep_makes_equal),
		cmocka_unit_test(
		    test_malformed_secret_is_refused_and_leaves_zeros),
		cmocka_unit_test(test_salt_of_a_secret_is_bounded),
		cmocka_unit_test(test_derivation_beyond_a_limit_fails),
		cmocka_unit_test(test_empty_password_makes_no_verifier),
		cmocka_unit_test(test_zeroed_verifier_matches_nothing),
		cmocka_unit_test(test_mock_salt_depends_on_user_and_seed_only),
		cmocka_unit_test(
		    test_every_failed_allocation_ends_a_password_check),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
