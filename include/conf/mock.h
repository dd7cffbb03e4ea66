/* mock.h - how missing users look like existing users.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_MOCK_H
#define CONF_MOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/crypto.h"
#include "proto/scram.h"

struct config;
struct err;

/* The shape of most secrets. */
struct mock_shape {
	bool scram;		/* method md5 asks for SCRAM */
	struct scram_shape salt;	/* iterations 0: scram_iterations */
};

struct mock {
	struct mock_shape shape;
	bool seeded;		/* else no seed can be derived */
	uint8_t seed[SHA256_BYTES];	/* of all salts that are ours */
};

/* No secret is known: as PostgreSQL stores secrets. */
#define MOCK_SHAPE_SERVER \
	((struct mock_shape){ true, { 0, SCRAM_SALT_BYTES } })

/* The shape of a stored secret. False: no client can prove to know it. */
bool mock_shape_of(const char *secret, struct mock_shape *out);
bool mock_shape_equal(const struct mock_shape *a, const struct mock_shape *b);

/*
 * Fill c->mock from its settings and its auth file; prev, in force, has it if
 * that is unchanged. Slow, that nobody guesses a weak password by the salts.
 * Returns 0, or -1 with e: the secret file, no memory.
 */
int mock_load(struct config *c, const struct config *prev, struct err *e);

#endif
