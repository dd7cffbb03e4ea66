/* credentials.h - a stored secret and what was derived from it, once.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_CREDENTIALS_H
#define POOL_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/userlist.h"
#include "proto/scram.h"

/* Counted, because a login in flight may outlive a reload. */
struct credentials {
	unsigned refs;
	char *secret;			/* owned, wiped; never NULL */
	enum secret_kind kind;
	struct scram_verifier *verifier;	/* owned; NULL: not made yet */
	struct scram_keys *keys;	/* owned; NULL: not known */
	uint8_t *keys_salt;		/* owned; keys are for this salt ... */
	size_t keys_salt_len;
	int keys_iterations;		/* ... and count; 0 = any (learned) */
};

/* NULL: no memory. */
struct credentials *credentials_new(const char *secret);
struct credentials *credentials_ref(struct credentials *c);
void credentials_unref(struct credentials **c);

/*
 * What to check a SCRAM login against: parsed from a SCRAM secret, or derived
 * from a plain one (costly), then kept while iterations stay the same.
 * Borrowed until the next call. NULL: no such thing (md5, empty, no memory).
 */
const struct scram_verifier *credentials_verifier(struct credentials *c,
    int iterations);

/*
 * A client proved to know a SCRAM secret: these keys log in to servers too.
 * Nothing happens with other secrets, or a key that is not theirs.
 */
void credentials_learn(struct credentials *c, const uint8_t *client_key);

/*
 * Keys for a server that asks for this salt and count (costly with a plain
 * secret when they are new). Borrowed until the next call. NULL: not possible
 * with this kind of secret, nothing learned yet, or no memory.
 */
const struct scram_keys *credentials_keys(struct credentials *c,
    const void *salt, size_t salt_len, int iterations);

#endif
