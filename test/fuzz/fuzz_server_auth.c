/* fuzz_server_auth.c - a hostile server: any Authentication messages.
 * The first byte chooses the secret and what may be bound to; then each
 * message is a length byte, times 16 with the high bit, and its bytes.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "upstream/server_auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum server_auth_result step(struct server_auth *a,
    struct credentials *c, const uint8_t *body, size_t len)
{
	/* so that a read behind it is found */
	uint8_t *copy = mem_dup(len > 0 ? body : (const uint8_t *)"", len);
	struct writer w;

	assert(copy != NULL);
	writer_init(&w, 65536);
	const enum server_auth_result r = server_auth_step(a, "fuzz", c, copy,
	    len, &w);

	assert(!w.failed && r != SERVER_AUTH_WAIT);
	/* who has to bind has not proved that it does */
	assert(r != SERVER_AUTH_OK || a->mode != BINDING_REQUIRE);
	assert(r != SERVER_AUTH_FAILED || a->error.text[0] != '\0');
	writer_fini(&w);
	mem_free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const secrets[] = {
		NULL, "", "plain", "md5" "0123456789abcdef0123456789abcdef",
	};
	if (size == 0)
		return 0;
	const char *secret = secrets[data[0] & 3];
	struct credentials *c = secret != NULL ? credentials_new(secret) : NULL;
	struct server_auth a = {
		.mode = (data[0] & 8) != 0 ? BINDING_REQUIRE : BINDING_PREFER,
		.binding = { .len = (data[0] & 4) != 0 ? 32 : 0 },
	};
	enum server_auth_result r = SERVER_AUTH_MORE;

	for (size_t at = 1; at < size && r == SERVER_AUTH_MORE;) {
		size_t len = (size_t)(data[at] & 127) << (data[at] >> 5 & 4);

		at++;
		len = len < size - at ? len : size - at;
		r = step(&a, c, data + at, len);
		at += len;
	}
	server_auth_end(&a);
	credentials_unref(&c);
	return 0;
}
