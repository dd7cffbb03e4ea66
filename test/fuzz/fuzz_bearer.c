/* fuzz_bearer.c - any bytes as a client's response of OAUTHBEARER.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/bearer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const at = (const char *)data;
	struct bearer b;

	switch (bearer_read(&b, at, size)) {
	case BEARER_TOKEN:
		assert(b.token > at && b.token + b.len < at + size);
		assert(bearer_is_token(b.token, b.len));
		break;
	case BEARER_ASKS:
		assert(b.len == 0 && b.why.text[0] == '\0');
		break;
	case BEARER_OTHER:
	case BEARER_MALFORMED:
		assert(b.why.text[0] != '\0' && b.why.code[0] != '\0');
		break;
	}
	return 0;
}
