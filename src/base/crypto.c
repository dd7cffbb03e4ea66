/* crypto.c - digests, random bytes, base64, secrets; libcrypto does the work.
 * SPDX-License-Identifier: ISC */
#include "base/crypto.h"

#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

void crypto_random(void *out, size_t n)
{
	if (n > INT_MAX || RAND_bytes(out, (int)n) != 1)
		log_fatal("no random numbers from the TLS library");
}

void random_pool_take(struct random_pool *p, void *out, size_t n)
{
	assert(n <= sizeof p->bytes);
	if (n > p->left) {
		crypto_random(p->bytes, sizeof p->bytes);
		p->left = sizeof p->bytes;
	}
	uint8_t *const at = p->bytes + sizeof p->bytes - p->left;

	memcpy(out, at, n);
	secret_wipe(at, n);
	p->left -= n;
}

int crypto_sha256(const void *p, size_t n, uint8_t out[SHA256_BYTES])
{
	return EVP_Digest(p, n, out, NULL, EVP_sha256(), NULL) == 1 ? 0 : -1;
}

int crypto_hmac_sha256(const void *key, size_t key_len, const void *p, size_t n,
    uint8_t out[SHA256_BYTES])
{
	/* A NULL key would mean "the key of last time" to HMAC(). */
	if (key_len > INT_MAX ||
	    HMAC(EVP_sha256(), key_len > 0 ? key : "", (int)key_len, p, n, out,
		NULL) == NULL)
		return -1;
	return 0;
}

int crypto_pbkdf2_sha256(const char *password, const void *salt,
    size_t salt_len, int iterations, uint8_t out[SHA256_BYTES])
{
	const size_t len = strlen(password);

	if (len > INT_MAX || salt_len > INT_MAX || iterations < 1)
		return -1;

	const int ok = PKCS5_PBKDF2_HMAC(password, (int)len, salt,
	    (int)salt_len, iterations, EVP_sha256(), SHA256_BYTES, out);
	return ok == 1 ? 0 : -1;
}

int crypto_md5_hex(const void *a, size_t a_len, const void *b, size_t b_len,
    char out[MD5_HEX_BYTES + 1])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t sum[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const bool ok = ctx != NULL &&
	    EVP_DigestInit_ex(ctx, EVP_md5(), NULL) == 1 &&
	    EVP_DigestUpdate(ctx, a, a_len) == 1 &&
	    EVP_DigestUpdate(ctx, b, b_len) == 1 &&
	    EVP_DigestFinal_ex(ctx, sum, NULL) == 1;

	EVP_MD_CTX_free(ctx);
	if (!ok)
		return -1;
	for (int i = 0; i < MD5_HEX_BYTES / 2; i++) {
		out[2 * i] = hex[sum[i] >> 4];
		out[2 * i + 1] = hex[sum[i] & 15];
	}
	out[MD5_HEX_BYTES] = '\0';
	secret_wipe(sum, sizeof sum);
	return 0;
}

size_t crypto_base64_encode(const void *p, size_t n, char *out)
{
	assert(n <= INT_MAX / 2);

	out[0] = '\0';
	if (n == 0)
		return 0;
	return (size_t)EVP_EncodeBlock((unsigned char *)out, p, (int)n);
}

/* The six bits of a letter, or -1. */
static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/*
 * By hand, because EVP_DecodeBlock() takes blanks and stray bits, and counts
 * the padding as data.
 */
int crypto_base64_decode(const char *s, size_t len, void *out, size_t size)
{
	size_t pad = 0;

	while (pad < 2 && pad < len && s[len - 1 - pad] == '=')
		pad++;
	if (len % 4 != 0 || len / 4 * 3 - pad > size || len > INT_MAX)
		return -1;

	uint8_t *at = out;
	uint32_t bits = 0; /* those not written yet are the lowest */
	unsigned count = 0;

	for (size_t i = 0; i < len - pad; i++) {
		const int v = base64_value(s[i]);

		if (v < 0)
			return -1;
		bits = bits << 6 | (uint32_t)v;
		count += 6;
		if (count >= 8) {
			count -= 8;
			*at++ = (uint8_t)(bits >> count);
			bits &= (1u << count) - 1;
		}
	}
	/* RFC 4648 3.5: bits left over are zero */
	return bits == 0 ? (int)(at - (uint8_t *)out) : -1;
}

bool crypto_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

bool crypto_equal_str(const char *secret, const char *given)
{
	const size_t len = strlen(given);
	volatile unsigned char differ = 0;
	size_t at = 0; /* stays at the NUL of a shorter secret */

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)secret[at];

		differ =
		    (unsigned char)(differ | (c ^ (unsigned char)given[i]));
		at += c != 0;
	}
	differ = (unsigned char)(differ | (unsigned char)secret[at]);
	return differ == 0;
}

void secret_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

void secret_free(char *s)
{
	if (s == NULL)
		return;
	secret_wipe(s, strlen(s));
	mem_free(s);
}
