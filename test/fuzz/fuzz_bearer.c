/* fuzz_bearer.c - any bytes as a client's response of OAUTHBEARER.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/bearer.h"
#include "proto/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is written for a token is read as this token. */
static void write_again(const struct bearer *b)
{
	char *const token = malloc(b->len + 1);
	struct bearer again;
	struct writer w;

	assert(token != NULL);
	memcpy(token, b->token, b->len);
	token[b->len] = '\0';
	writer_init(&w, b->len + 64);
	bearer_write(&w, token);
	assert(!w.failed);
	assert(bearer_read(&again, (const char *)w.at, w.len) ==
	    BEARER_TOKEN);
	assert(again.len == b->len &&
	    memcmp(again.token, token, b->len) == 0);
	writer_fini(&w);
	free(token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const at = (const char *)data;
	struct bearer b;

	switch (bearer_read(&b, at, size)) {
	case BEARER_TOKEN:
		assert(b.token > at && b.token + b.len < at + size);
		assert(bearer_is_token(b.token, b.len));
		write_again(&b);
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
