/* verifier_test.h - what tests ask of a SCRAM verifier.
 * SPDX-License-Identifier: ISC */
#ifndef VERIFIER_TEST_H
#define VERIFIER_TEST_H

#include <stdbool.h>
#include <string.h>

#include "proto/scram_verifier.h"

/* Does the clear password belong to v? */
static inline bool verifier_matches(const struct scram_verifier *v,
    const char *password)
{
	struct scram_keys k;

	return scram_keys_derive(&k, password, v->salt, v->salt_len,
		   v->iterations) == 0 &&
	    memcmp(k.server_key, v->server_key, sizeof k.server_key) == 0;
}

#endif
