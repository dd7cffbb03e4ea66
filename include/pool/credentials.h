/* credentials.h - a stored secret and what was derived from it, once.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_CREDENTIALS_H
#define POOL_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/userlist.h"
#include "proto/scram.h"

struct derivation;

/* Salts that keys are remembered for: as many servers share one password. */
#define CREDENTIALS_SALTS 8

/* Keys, and the salt they are for. */
struct known_keys {
	struct known_keys *next;	/* used longer ago */
	struct scram_keys keys;
	int iterations;
	size_t salt_len;
	uint8_t salt[];
};

/* Counted, because a login in flight may outlive a reload. */
struct credentials {
	unsigned refs;
	char *secret;			/* owned, wiped; never NULL, nor changed */
	enum secret_kind kind;
	struct scram_verifier *verifier;	/* owned; NULL: not made yet */
	struct scram_keys *learned;	/* owned; NULL: SCRAM, nobody came yet */
	struct known_keys *known;	/* owned; LL list: plain */
	struct derivation *deriving;	/* LL list of upstream/derive.c */
};

/* NULL: no memory. */
struct credentials *credentials_new(const char *secret);
/* A reference to now (may be NULL) if that is its secret, else a new one. */
struct credentials *credentials_renew(struct credentials *now,
    const char *secret);
struct credentials *credentials_ref(struct credentials *c);
void credentials_unref(struct credentials **c);

/*
 * What to check a SCRAM login against: parsed from a SCRAM secret, or what
 * credentials_put_verifier() was given for this count; it is kept while that
 * stays the same. Borrowed until the next put. NULL: there is none (yet).
 */
const struct scram_verifier *credentials_verifier(struct credentials *c,
    int iterations);
/* These keys belong to a plain secret and this salt. 0, or -1: no memory. */
int credentials_put_verifier(struct credentials *c, const struct scram_keys *k,
    const struct scram_salt *salt);

/*
 * A client proved to know a SCRAM secret: these keys log in to servers too.
 * Nothing happens with other secrets, or a key that is not theirs.
 */
void credentials_learn(struct credentials *c, const uint8_t *client_key);

/*
 * Keys for a server that asks for this: keys learned, or keys that
 * credentials_put_keys() was given for a plain secret. Borrowed until the next
 * put. NULL: there are none (yet).
 */
const struct scram_keys *credentials_keys(struct credentials *c,
    const struct scram_salt *salt);
/* Without memory the keys are not remembered. */
void credentials_put_keys(struct credentials *c, const struct scram_keys *k,
    const struct scram_salt *salt);

#endif
