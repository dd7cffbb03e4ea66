/* token.h - a secret that a file holds, kept as its digest.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_TOKEN_H
#define CONF_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/crypto.h"

struct err;

/* A value: nothing in it is owned. */
struct token {
	bool given;		/* a file was named, and read */
	uint8_t digest[SHA256_BYTES];
};

/*
 * The first line of path, without blanks around it; path "": no token. 0, or -1
 * with e: the file can't be read, or is empty.
 */
int token_load(const char *path, struct token *t, struct err *e);

/* Is given this token? Takes the same time wherever the two differ. */
bool token_is(const struct token *t, const char *given);

#endif
