/* fuzz_scram_client.c - a hostile server: two messages, split at a newline.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/scram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The message with the first '@' replaced by our nonce, which is random. */
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

static void answer(struct scram_client *c, const char *in, size_t len)
{
	/* as if derived: the derivation itself is no parser, and slow */
	const struct scram_keys k = { .client_key = { 1 },
		.server_key = { 2 } };
	struct err e;

	assert(c->salt_len >= 1 && c->salt_len <= SCRAM_SALT_MAX);
	assert(c->iterations >= 1 && c->iterations <= SCRAM_ITERATIONS_MAX);
	assert(c->nonce_full_len > strlen(c->nonce));
	char *final = scram_client_final(c, &k);
	assert(final != NULL);
	/* a server that does not know our keys cannot sign */
	assert(scram_client_verify(c, in, len, &e) != 0);
	assert(!scram_client_is_done(c));
	mem_free(final);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *in = (const char *)data;
	const char *newline = size > 0 ? memchr(in, '\n', size) : NULL;
	const size_t first = newline == NULL ? size : (size_t)(newline - in);
	struct scram_client c = { 0 };
	struct err e;
	size_t n;

	char *client_first = scram_client_first(&c);
	assert(client_first != NULL);
	char *message = with_nonce(in, first, c.nonce, &n);
	if (scram_client_challenge(&c, message, n, &e) == 0) {
		const size_t used = newline == NULL ? size : first + 1;
		answer(&c, in + used, size - used);
	}
	mem_free(message);
	mem_free(client_first);
	scram_client_fini(&c);
	return 0;
}
