/* jwt.h - tokens that others have signed: a file of keys, and what a token says.
 * (RFC 7515, 7517, 7518, 7519, 8037; libcrypto verifies, jansson reads)
 * SPDX-License-Identifier: ISC */
#ifndef BASE_JWT_H
#define BASE_JWT_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct jwks;		/* public keys; immutable, reference-counted */
struct jwks_file;	/* a file of them, reference-counted */

#define JWKS_MAX ((size_t)1 << 20)	/* bytes of a file of keys */
#define JWKS_KEYS_MAX 256
#define JWT_TEXT_MAX 65535		/* bytes of a token */
#define JWT_NAME_MAX 512		/* room for the claim that names the user */
#define JWT_LEEWAY 30			/* seconds that two clocks may differ */

/*
 * Read a JWK Set. Keys of another kind, too short ones and those without kid
 * are left out. Wrong is a set without a usable key, with the same kid twice, or
 * with a private key.
 * Returns one reference, or NULL with e.
 */
struct jwks *jwks_parse(const char *text, size_t len, struct err *e);
struct jwks *jwks_ref(struct jwks *k);
void jwks_unref(struct jwks **k);
size_t jwks_count(const struct jwks *k);

/* What a token must say to be accepted. All borrowed. */
struct jwt_demand {
	const struct jwks *keys;	/* one of them must have signed it */
	const char *issuer;	/* iss, to the byte */
	const char *audience;	/* aud, or one of it */
	const char *scope;	/* all of these words, in scope or scp */
	const char *claim;	/* the string that names the user */
	int64_t now;		/* seconds since 1970 */
};

struct jwt_found {
	char name[JWT_NAME_MAX];	/* what the claim says; not empty */
};

/*
 * Is the token signed by one of the keys, valid now, and does it say what is
 * demanded?
 * Returns: 0, or -1 with e for the log, which quotes nothing of the token.
 */
int jwt_check(const char *token, const struct jwt_demand *d,
    struct jwt_found *found, struct err *e);

/* Nothing is read yet. Takes a copy of path. NULL: no memory. */
struct jwks_file *jwks_file_new(const char *path);
struct jwks_file *jwks_file_ref(struct jwks_file *f);
void jwks_file_unref(struct jwks_file **f);
const char *jwks_file_path(const struct jwks_file *f);

/*
 * The keys that the file has now: it is read if it has changed. May block; from
 * any thread. Keys that the file had before never count.
 * now: seconds since 1970.
 * Returns: a reference, or NULL with e: it cannot be read, or has no usable key.
 */
struct jwks *jwks_file_get(struct jwks_file *f, int64_t now, struct err *e);

#endif
