/* fuzz_scram_server.c - a hostile client: two messages, split at a newline.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/scram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The message with the first '@' replaced by the nonce, which is random. */
static char *with_nonce(const char *in, size_t len, const char *nonce,
    size_t *out_len)
{
	const char *at = len > 0 ? memchr(in, '@', len) : NULL;
	const size_t before = at == NULL ? len : (size_t)(at - in);
	const size_t nonce_len = at == NULL ? 0 : strlen(nonce);
	const size_t after = at == NULL ? 0 : len - before - 1;

	*out_len = before + nonce_len + after;
	char *out = mem_alloc(*out_len);
	assert(out != NULL);
	if (before > 0)
		memcpy(out, in, before);
	if (nonce_len > 0)
		memcpy(out + before, nonce, nonce_len);
	if (after > 0)
		memcpy(out + before + nonce_len, at + 1, after);
	return out;
}

static void final(struct scram_server *s, const char *in, size_t len)
{
	struct err e;
	size_t n;
	char *out;

	char *message = with_nonce(in, len, s->nonce, &n);
	/* nobody knows a password for these keys */
	assert(scram_server_final(s, message, n, &out, &e) != 0);
	assert(out == NULL && s->step == SCRAM_FAILED);
	mem_free(message);
}

/* offer: bytes that may be bound to; plus: and the client does. */
static void talk(const uint8_t *data, size_t size, size_t offer, bool plus)
{
	static const uint8_t seed[SHA256_BYTES];
	static const struct scram_shape shape = { 4096, SCRAM_SALT_BYTES };
	const char *in = (const char *)data;
	const char *newline = size > 0 ? memchr(in, '\n', size) : NULL;
	const size_t first = newline == NULL ? size : (size_t)(newline - in);
	struct scram_server s = { .binding = { .len = offer }, .plus = plus };
	struct scram_verifier v;
	struct err e;
	char *out;

	if (scram_verifier_mock(&v, "fuzz", seed, &shape) != 0)
		return;
	if (scram_server_first(&s, &v, in, first, &out, &e) == 0) {
		assert(strlen(out) <= SCRAM_MESSAGE_MAX);
		if (newline != NULL)
			final(&s, newline + 1, size - first - 1);
	} else
		assert(out == NULL);
	mem_free(out);
	scram_server_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	talk(data, size, 0, false);
	talk(data, size, 32, false);
	talk(data, size, 32, true);
	talk(data, size, SCRAM_BINDING_MAX, true);
	return 0;
}
