/* password.h - SASLprep (RFC 4013) and md5 of a password, as PostgreSQL does.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PASSWORD_H
#define PROTO_PASSWORD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Longer passwords that are not ASCII are used as they are: normalising takes
 * time that grows with the square of the length.
 */
#define SASLPREP_BYTES_MAX 8192

/*
 * Returns the prepared password, heap, owned by the caller (secret_free); the
 * raw bytes when SASLprep rejects them, as PostgreSQL does. NULL: no memory.
 */
char *saslprep(const char *password);

/* PostgreSQL's md5 password method. */

#define MD5_SECRET_LEN 35 /* "md5" and 32 hex digits */

/* Is secret a stored form: "md5" and 32 lower-case hex digits, no more? */
bool md5_is_secret(const char *secret);

/* "md5" + hex(md5(password user)): the stored form. 0 or -1. */
int md5_secret(const char *password, const char *user,
    char out[MD5_SECRET_LEN + 1]);

/*
 * The answer to a challenge, from a stored form. 0, or -1 with out empty:
 * not a stored form, or no MD5 (FIPS).
 */
int md5_response(const char *secret, const uint8_t salt[4],
    char out[MD5_SECRET_LEN + 1]);

#endif
