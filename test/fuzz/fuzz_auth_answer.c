/* fuzz_auth_answer.c - a hostile server: anything in answer to auth_query.
 * Each message is its type, a length byte, times 16 with the high bit, and its
 * bytes.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "login/auth_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_field(const struct auth_field *f, const uint8_t *body,
    size_t len)
{
	if (f->at == NULL) {
		assert(f->len == 0);
		return;
	}
	assert((const uint8_t *)f->at >= body &&
	    (const uint8_t *)f->at + f->len <= body + len);
	assert(memchr(f->at, '\0', f->len) == NULL);
}

static enum auth_answer_kind take(struct auth_answer *a, char type,
    const uint8_t *body, size_t len)
{
	const unsigned results = a->results;
	/* so that a read behind it is found */
	uint8_t *copy = mem_dup(len > 0 ? body : (const uint8_t *)"", len);

	assert(copy != NULL);
	const enum auth_answer_kind k = auth_answer_take(a, type, copy, len);

	check_field(&a->name, copy, len);
	check_field(&a->secret, copy, len);
	assert(k == AUTH_ANSWER_ROW || k == AUTH_ANSWER_PARAMETER ||
	    (a->name.at == NULL && a->secret.at == NULL));
	/* what sets the search_path tells nothing about users */
	assert(k != AUTH_ANSWER_ROW || (results > 0 && a->name.len > 0));
	assert(k != AUTH_ANSWER_END || results == 2);
	assert(k != AUTH_ANSWER_BAD || a->why[0] != '\0');
	assert(strnlen(a->why, sizeof a->why) < sizeof a->why);
	mem_free(copy);
	return k;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auth_answer a = { 0 };
	enum auth_answer_kind k = AUTH_ANSWER_MORE;

	for (size_t at = 0; at + 2 <= size && k < AUTH_ANSWER_END;) {
		const char type = (char)data[at];
		size_t len = (size_t)(data[at + 1] & 127) <<
		    (data[at + 1] >> 5 & 4);

		at += 2;
		len = len < size - at ? len : size - at;
		k = take(&a, type, data + at, len);
		at += len;
	}
	return 0;
}
