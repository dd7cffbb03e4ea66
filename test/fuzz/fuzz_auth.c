/* fuzz_auth.c - a hostile client: any messages in place of a password.
 * The first byte chooses the method, the secret and what is bound to; then
 * each message is a length byte, times 16 with the high bit, and its bytes.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "login/auth.h"
#include "pool/credentials.h"
#include "proto/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SCRAM_SECRET "SCRAM-SHA-256$1:W22ZaJ0SNY7soEsUEjb6gQ==" \
	"$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=" \
	":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

static struct auth_request request_of(uint8_t choice)
{
	static const enum auth_type types[] = {
		AUTH_PLAIN, AUTH_MD5, AUTH_SCRAM_SHA_256, AUTH_TRUST,
	};
	/* NULL: nobody has that name; "": no password is right */
	static const char *const secrets[] = {
		NULL, "", SCRAM_SECRET, "md5" "0123456789abcdef0123456789abcdef",
	};
	static const uint8_t mock_salt[32];
	struct auth_request rq = { .type = types[choice & 3], .user = "fuzz",
	    .scram_iterations = 1, .mock_salt = mock_salt };
	const char *secret = secrets[choice >> 2 & 3];

	rq.credentials = secret != NULL ? credentials_new(secret) : NULL;
	rq.binding.len = (choice & 16) != 0 ? 32 : 0;
	rq.must_bind = (choice & 32) != 0;
	return rq;
}

static enum auth_result step(struct auth *a, const uint8_t *body, size_t len)
{
	/* so that a read behind it is found */
	uint8_t *copy = mem_dup(len > 0 ? body : (const uint8_t *)"", len);
	struct writer w;

	assert(copy != NULL);
	writer_init(&w, 65536);
	const enum auth_result r = auth_step(a, copy, len, &w);

	assert(!w.failed && r != AUTH_WAIT);
	assert(r != AUTH_DENY || a->refusal->error.text[0] != '\0');
	writer_fini(&w);
	mem_free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct auth_request rq = request_of(data[0]);
	struct auth_refusal why;
	struct auth a = { .refusal = &why };
	struct writer w;

	writer_init(&w, 65536);
	enum auth_result r = auth_begin(&a, &rq, &w);

	writer_fini(&w);
	/* only trust lets anybody in who has shown nothing */
	assert(r != AUTH_OK || (rq.type == AUTH_TRUST &&
	    rq.credentials != NULL));
	for (size_t at = 1; at < size && r == AUTH_MORE;) {
		size_t len = (size_t)(data[at] & 127) << (data[at] >> 5 & 4);

		at++;
		len = len < size - at ? len : size - at;
		r = step(&a, data + at, len);
		assert(r != AUTH_OK);
		at += len;
	}
	auth_end(&a);
	credentials_unref(&rq.credentials);
	return 0;
}
