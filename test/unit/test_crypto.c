/* test_crypto.c - digests against published vectors, base64, comparison.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/mem.h"

static void assert_hex(const uint8_t *p, const char *hex)
{
	char text[2 * SHA256_BYTES + 1];

	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	assert_string_equal(text, hex);
}

/* FIPS 180-2, appendix B.1 */
static void test_sha256_is_as_published(void **state)
{
	(void)state;

	uint8_t out[SHA256_BYTES];

	assert_int_equal(crypto_sha256("abc", 3, out), 0);
	assert_hex(out,
	    "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(crypto_sha256(NULL, 0, out), 0);
	assert_hex(out,
	    "e3b0c44298fc1c149afbf4c8996fb924"
	    "27ae41e4649b934ca495991b7852b855");
}

/* RFC 4231 4.2 and 4.3 */
static void test_hmac_is_as_published(void **state)
{
	(void)state;

	uint8_t key[20], out[SHA256_BYTES];

	memset(key, 0x0b, sizeof key);
	assert_int_equal(crypto_hmac_sha256(key, sizeof key, "Hi There", 8,
			     out),
	    0);
	assert_hex(out,
	    "b0344c61d8db38535ca8afceaf0bf12b"
	    "881dc200c9833da726e9376c2e32cff7");
	assert_int_equal(crypto_hmac_sha256("Jefe", 4,
			     "what do ya want for nothing?", 28, out),
	    0);
	assert_hex(out,
	    "5bdcc146bf60754e6a042426089575c7"
	    "5a003f089d2739839dec58b964ec3843");
}

static void test_hmac_with_empty_key_does_not_reuse_one(void **state)
{
	(void)state;

	uint8_t out[SHA256_BYTES];

	assert_int_equal(crypto_hmac_sha256("key", 3, "", 0, out), 0);
	assert_int_equal(crypto_hmac_sha256(NULL, 0, "", 0, out), 0);
	assert_hex(out,
	    "b613679a0814d9ec772f95d778c35fc5"
	    "ff1697c493715653c6c712144292c5ad");
}

/* RFC 7914 section 11, first 32 bytes */
static void test_pbkdf2_is_as_published(void **state)
{
	(void)state;

	uint8_t out[SHA256_BYTES];

	assert_int_equal(crypto_pbkdf2_sha256("passwd", "salt", 4, 1, out), 0);
	assert_hex(out,
	    "55ac046e56e3089fec1691c22544b605"
	    "f94185216dde0465e68b9d57c20dacbc");
	assert_int_equal(crypto_pbkdf2_sha256("x", "salt", 4, 0, out), -1);
}

/* N 2048, r 8, p 8: what another implementation of RFC 7914 says */
static void test_slow_derivation_stays_the_same(void **state)
{
	(void)state;

	uint8_t out[SHA256_BYTES];

	assert_int_equal(crypto_derive_slowly("passwd", "salt", 4, out), 0);
	assert_hex(out,
	    "c28ce843e900c27bbf9de61917cd1742"
	    "166370954c1336b678ac1edeb2b84039");
}

/* RFC 1321 A.5 */
static void test_md5_is_as_published(void **state)
{
	(void)state;

	char out[MD5_HEX_BYTES + 1];

	assert_int_equal(crypto_md5_hex("a", 1, "bc", 2, out), 0);
	assert_string_equal(out, "900150983cd24fb0d6963f7d28e17f72");
	assert_int_equal(crypto_md5_hex("", 0, NULL, 0, out), 0);
	assert_string_equal(out, "d41d8cd98f00b204e9800998ecf8427e");
}

static void test_random_differs_each_time(void **state)
{
	(void)state;

	uint8_t a[16], b[16];

	crypto_random(a, sizeof a);
	crypto_random(b, sizeof b);
	assert_memory_not_equal(a, b, sizeof a);
}

static const struct {
	const char *plain, *text;
} base64[] = {
	/* RFC 4648 section 10 */
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xbf", "+/+/" },
};

static void test_pool_gives_each_byte_once(void **state)
{
	struct random_pool pool = { 0 };
	uint8_t out[64][96];

	(void)state;
	for (size_t i = 0; i < 64; i++) {
		random_pool_take(&pool, out[i], i + 32);
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(out[i], out[k], 32);
		for (size_t k = 0; k < sizeof pool.bytes - pool.left; k++)
			assert_int_equal(pool.bytes[k], 0);
	}
}

static void test_base64_is_written_as_published(void **state)
{
	(void)state;

	char out[CRYPTO_BASE64_SIZE(6)];

	for (size_t i = 0; i < sizeof base64 / sizeof base64[0]; i++) {
		assert_int_equal(crypto_base64_encode(base64[i].plain,
				     strlen(base64[i].plain), out),
		    strlen(base64[i].text));
		assert_string_equal(out, base64[i].text);
	}
}

static void test_base64_is_read_as_published(void **state)
{
	(void)state;

	char out[6];

	for (size_t i = 0; i < sizeof base64 / sizeof base64[0]; i++) {
		const size_t len = strlen(base64[i].plain);

		assert_int_equal(crypto_base64_decode(base64[i].text,
				     strlen(base64[i].text), out, len),
		    len);
		assert_memory_equal(out, base64[i].plain, len);
	}
}

static void test_bad_base64_is_refused(void **state)
{
	(void)state;

	static const char *const bad[] = {
		"Z",
		"Zg",
		"Zg=",
		"=",
		"==",
		"====",
		"Z===",
		"Zg==Zg==",
		"Zh==",
		"Zm9=",
		"Zm 9",
		"Zg==\n",
		"\nZm9v",
		"Zm-_",
		"Z=g=",
	};
	char out[16];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(crypto_base64_decode(bad[i], strlen(bad[i]),
				     out, sizeof out),
		    -1);
}

static void test_base64_without_room_is_refused(void **state)
{
	(void)state;

	char out[3];

	assert_int_equal(crypto_base64_decode("Zm9v", 4, out, 2), -1);
	assert_int_equal(crypto_base64_decode("Zm8=", 4, out, 1), -1);
	assert_int_equal(crypto_base64_decode("Zm8=", 4, out, 2), 2);
}

static void test_equal_compares_bytes(void **state)
{
	(void)state;

	assert_true(crypto_equal("abc", "abd", 2));
	assert_false(crypto_equal("abc", "abd", 3));
	assert_true(crypto_equal("a\0b", "a\0b", 3));
	assert_false(crypto_equal("a\0b", "a\0c", 3));
}

static void test_equal_str_compares_whole_strings(void **state)
{
	(void)state;

	assert_true(crypto_equal_str("secret", "secret"));
	assert_true(crypto_equal_str("", ""));
	assert_false(crypto_equal_str("secret", "secreT"));
	assert_false(crypto_equal_str("secret", "secre"));
	assert_false(crypto_equal_str("secret", "secrets"));
	assert_false(crypto_equal_str("secret", ""));
	assert_false(crypto_equal_str("", "secret"));
	assert_false(crypto_equal_str("aa", "aaaa"));
}

static void test_wipe_clears_all_bytes(void **state)
{
	(void)state;

	char s[] = "secret";
	const char zeros[sizeof s] = "";

	secret_wipe(s, sizeof s);
	assert_memory_equal(s, zeros, sizeof s);
	secret_free(mem_strdup("secret"));
	secret_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256_is_as_published),
		cmocka_unit_test(test_hmac_is_as_published),
		cmocka_unit_test(test_hmac_with_empty_key_does_not_reuse_one),
		cmocka_unit_test(test_pbkdf2_is_as_published),
		cmocka_unit_test(test_slow_derivation_stays_the_same),
		cmocka_unit_test(test_md5_is_as_published),
		cmocka_unit_test(test_random_differs_each_time),
		cmocka_unit_test(test_pool_gives_each_byte_once),
		cmocka_unit_test(test_base64_is_written_as_published),
		cmocka_unit_test(test_base64_is_read_as_published),
		cmocka_unit_test(test_bad_base64_is_refused),
		cmocka_unit_test(test_base64_without_room_is_refused),
		cmocka_unit_test(test_equal_compares_bytes),
		cmocka_unit_test(test_equal_str_compares_whole_strings),
		cmocka_unit_test(test_wipe_clears_all_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
