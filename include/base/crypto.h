/* crypto.h - digests, random bytes, base64, secrets; libcrypto does the work.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_CRYPTO_H
#define BASE_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define MD5_HEX_BYTES 32

/* Cryptographic random; ends the process when the generator fails. */
void crypto_random(void *out, size_t n);

/*
 * Random bytes drawn ahead, for many small needs: a call of the generator
 * costs as much as thousands of instructions, whatever it is asked for. A
 * byte is wiped when it is given out. Starts zeroed.
 */
#define RANDOM_POOL_BYTES 512
struct random_pool {
	size_t left;	/* at the end of bytes */
	uint8_t bytes[RANDOM_POOL_BYTES];
};
/* n is at most RANDOM_POOL_BYTES. Errors: as crypto_random(). */
void random_pool_take(struct random_pool *p, void *out, size_t n);

/* 0, or -1 when the library refuses (MD5 under FIPS, no memory). */
int crypto_sha256(const void *p, size_t n, uint8_t out[SHA256_BYTES]);
int crypto_hmac_sha256(const void *key, size_t key_len, const void *p, size_t n,
    uint8_t out[SHA256_BYTES]);
int crypto_pbkdf2_sha256(const char *password, const void *salt,
    size_t salt_len, int iterations, uint8_t out[SHA256_BYTES]);
/*
 * What takes a guesser long, and us a twentieth of a second: scrypt, where the
 * library has it (FIPS has not), otherwise PBKDF2. Errors: as above.
 */
int crypto_derive_slowly(const char *password, const void *salt,
    size_t salt_len, uint8_t out[SHA256_BYTES]);

/* Lower-case hex and a NUL of MD5 over a followed by b. */
int crypto_md5_hex(const void *a, size_t a_len, const void *b, size_t b_len,
    char out[MD5_HEX_BYTES + 1]);

/* Room for the text of n bytes, the NUL included. */
#define CRYPTO_BASE64_SIZE(n) ((((n) + 2) / 3) * 4 + 1)

/* Writes the text and a NUL to out (CRYPTO_BASE64_SIZE). Returns its length. */
size_t crypto_base64_encode(const void *p, size_t n, char *out);

/* Strict RFC 4648. Returns the bytes written, or -1 (bad text, no room). */
int crypto_base64_decode(const char *s, size_t len, void *out, size_t size);

/* Compare without telling by time where they differ. */
bool crypto_equal(const void *a, const void *b, size_t n);

/* Two strings, in a time that depends on the length of given only. */
bool crypto_equal_str(const char *secret, const char *given);

/*
 * Before anything else of the library is called, once: from then on it keeps
 * private keys and the like in pages of their own, which a core dump leaves
 * out and, where that is allowed, are never swapped. Where that can't be had
 * they stay where they were.
 */
void crypto_seclude_keys(void);

/* Overwrite; never optimised away. */
void secret_wipe(void *p, size_t n);

/* Wipe and free a heap string; NULL is fine. */
void secret_free(char *s);

#endif
