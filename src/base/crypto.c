/* crypto.c - digests, random bytes, base64, secrets; libcrypto does the work.
 * SPDX-License-Identifier: ISC */
#include "base/crypto.h"

#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "base/mem.h"

#define SHA256_BLOCK 64

/* 2 MB: blocks that are larger would raise malloc's limits for the rest */
#define SCRYPT_N 2048
#define SCRYPT_R 8
#define SCRYPT_P 8
#define SCRYPT_BYTES_MAX ((uint64_t)32 << 20)
#define SLOW_ITERATIONS 300000

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

/*
 * The library's own look-up of a digest takes as long as the digest of a short
 * text: done once. Kept until the end of the process.
 */
static const EVP_MD *sha256(void)
{
	static _Atomic(EVP_MD *) known;
	EVP_MD *md = atomic_load(&known), *before = NULL;

	if (md != NULL)
		return md;
	md = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (atomic_compare_exchange_strong(&known, &before, md))
		return md;
	EVP_MD_free(md);
	return before;
}

/* The digest of a followed by b. */
static int digest(EVP_MD_CTX *ctx, const struct iovec part[2],
    uint8_t out[SHA256_BYTES])
{
	const EVP_MD *md = sha256();

	return md != NULL && EVP_DigestInit_ex(ctx, md, NULL) == 1 &&
	    EVP_DigestUpdate(ctx, part[0].iov_base, part[0].iov_len) == 1 &&
	    EVP_DigestUpdate(ctx, part[1].iov_base, part[1].iov_len) == 1 &&
	    EVP_DigestFinal_ex(ctx, out, NULL) == 1 ? 0 : -1;
}

int crypto_sha256(const void *p, size_t n, uint8_t out[SHA256_BYTES])
{
	const EVP_MD *md = sha256();

	return md != NULL && EVP_Digest(p, n, out, NULL, md, NULL) == 1 ?
	    0 : -1;
}

/*
 * RFC 2104, over the digest that is known: HMAC() looks up three algorithms
 * by name each time, which is most of what it costs.
 */
static int hmac(EVP_MD_CTX *ctx, const uint8_t key[SHA256_BLOCK],
    const struct iovec *message, uint8_t out[SHA256_BYTES])
{
	uint8_t inner[SHA256_BLOCK], outer[SHA256_BLOCK];

	for (size_t i = 0; i < SHA256_BLOCK; i++) {
		inner[i] = key[i] ^ 0x36;
		outer[i] = key[i] ^ 0x5c;
	}
	const struct iovec first[] = { { inner, sizeof inner }, *message };
	const struct iovec then[] = { { outer, sizeof outer },
		{ out, SHA256_BYTES } };
	const int rc = digest(ctx, first, out) < 0 ? -1 :
	    digest(ctx, then, out);

	secret_wipe(inner, sizeof inner);
	secret_wipe(outer, sizeof outer);
	return rc;
}

int crypto_hmac_sha256(const void *key, size_t key_len, const void *p, size_t n,
    uint8_t out[SHA256_BYTES])
{
	const struct iovec message = { (void *)p, n };
	uint8_t padded[SHA256_BLOCK] = { 0 };
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int rc = ctx == NULL ? -1 : 0;

	if (key_len > sizeof padded)
		rc = rc < 0 ? -1 : crypto_sha256(key, key_len, padded);
	else if (key_len > 0)
		memcpy(padded, key, key_len);
	if (rc == 0)
		rc = hmac(ctx, padded, &message, out);
	EVP_MD_CTX_free(ctx);
	secret_wipe(padded, sizeof padded);
	return rc;
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

int crypto_derive_slowly(const char *password, const void *salt,
    size_t salt_len, uint8_t out[SHA256_BYTES])
{
	const int ok = EVP_PBE_scrypt(password, strlen(password), salt,
	    salt_len, SCRYPT_N, SCRYPT_R, SCRYPT_P, SCRYPT_BYTES_MAX, out,
	    SHA256_BYTES);

	return ok == 1 ? 0 : crypto_pbkdf2_sha256(password, salt, salt_len,
	    SLOW_ITERATIONS, out);
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
	uint32_t bits = 0; /* bits not written yet are the lowest */
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

/* Address space, which costs nothing: running out of it would refuse logins. */
#define SECLUDED_BYTES ((size_t)64 << 20)
#define SECLUDED_LEAST 16

static void *lib_alloc(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return mem_lib_alloc(n);
}

static void *lib_realloc(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return mem_lib_realloc(p, n);
}

static void lib_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	mem_lib_free(p);
}

void crypto_seclude_keys(void)
{
	(void)CRYPTO_set_mem_functions(lib_alloc, lib_realloc, lib_free);
	(void)CRYPTO_secure_malloc_init(SECLUDED_BYTES, SECLUDED_LEAST);
}

void secret_wipe(void *p, size_t n)
{
	explicit_bzero(p, n);
}

void secret_free(char *s)
{
	if (s == NULL)
		return;
	secret_wipe(s, strlen(s));
	mem_free(s);
}
