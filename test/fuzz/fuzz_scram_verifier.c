/* fuzz_scram_verifier.c - a stored secret from a file or a server.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "proto/scram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct scram_verifier zero;
	struct scram_verifier v;

	char *secret = mem_strndup((const char *)data, size);
	assert(secret != NULL);
	if (scram_verifier_parse(&v, secret) == 0) {
		assert(v.salt_len >= 1 && v.salt_len <= SCRAM_SALT_MAX);
		assert(
		    v.iterations >= 1 && v.iterations <= SCRAM_ITERATIONS_MAX);
	} else
		assert(memcmp(&v, &zero, sizeof v) == 0);
	mem_free(secret);
	return 0;
}
