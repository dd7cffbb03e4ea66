/* scram_verifier.h - what is stored of a password for SCRAM, and the keys.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SCRAM_VERIFIER_H
#define PROTO_SCRAM_VERIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypto.h"

#define SCRAM_SALT_BYTES 16
#define SCRAM_SALT_MAX 1024	      /* limit for salts of others */
#define SCRAM_ITERATIONS_MAX 1000000 /* a peer may not burn our CPU */

/* Keys that prove a password without containing it. */
struct scram_verifier {
	int iterations;
	size_t salt_len;
	uint8_t salt[SCRAM_SALT_MAX];
	uint8_t stored_key[SHA256_BYTES];
	uint8_t server_key[SHA256_BYTES];
};

/* Salt and iterations that keys are derived with, besides the password. */
struct scram_salt {
	const uint8_t *at; /* borrowed */
	size_t len;
	int iterations;
};

/* The part of a verifier that a client sees before any proof. */
struct scram_shape {
	int iterations;
	size_t salt_len;
};

/* Keys by which a client can log in without knowing the password. */
struct scram_keys {
	uint8_t client_key[SHA256_BYTES];
	uint8_t server_key[SHA256_BYTES];
};

/*
 * SCRAM-SHA-256$<i>:<salt>$<stored>:<server>; 0, or -1 with v all zero. Salt
 * and iterations beyond our limits are refused too.
 */
int scram_verifier_parse(struct scram_verifier *v, const char *secret);
/* The same text again; heap, secret. NULL: no memory. */
char *scram_verifier_text(const struct scram_verifier *v);
/*
 * Derive from a password (SASLprep applied; costly: PBKDF2). 0, or -1 with v
 * all zero: empty password (it may never log anybody in), no salt, a limit,
 * no memory.
 */
int scram_verifier_derive(struct scram_verifier *v, const char *password,
    const void *salt, size_t salt_len, int iterations);
/*
 * The verifier that belongs to keys derived with a salt, which may be v's own;
 * v->iterations is left alone. 0 or -1 (no memory).
 */
int scram_verifier_fill(struct scram_verifier *v, const struct scram_keys *k,
    const void *salt, size_t salt_len);
/* A salt, len bytes: the same for each seed and user. 0 or -1: no memory. */
int scram_mock_salt(const uint8_t seed[SHA256_BYTES], const char *user,
    uint8_t *out, size_t len);
/*
 * For users that don't exist: such a salt, keys no password has. Costs what a
 * salt does. Source: spec/authentication.md section 7.
 */
int scram_verifier_mock(struct scram_verifier *v, const char *user,
    const uint8_t seed[SHA256_BYTES], const struct scram_shape *shape);
/* Keys of a client that knows the password, which may be empty. 0 or -1. */
int scram_keys_derive(struct scram_keys *k, const char *password,
    const void *salt, size_t salt_len, int iterations);

#endif
