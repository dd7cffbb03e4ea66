/* fuzz_password.c - a password as a client sends it.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "proto/password.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *password = mem_strndup((const char *)data, size);
	assert(password != NULL);
	char *out = saslprep(password);
	assert(out != NULL);
	/* nothing becomes empty that was not */
	assert((out[0] == '\0') == (password[0] == '\0'));
	secret_free(out);
	secret_free(password);
	return 0;
}
