/* fuzz_startup.c - first messages, StartupMessage parameters and options.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "proto/startup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
	size_t bytes;
	bool in_options;
};

static int on_pair(const char *name, const char *value, void *arg,
    struct err *e)
{
	struct walk *const w = arg;

	assert(name[0] != '\0');
	w->bytes += strlen(name) + strlen(value);
	startup_replication(value);
	if (!w->in_options && strcmp(name, "options") == 0) {
		struct walk inner = { .in_options = true };

		if (startup_options(value, on_pair, &inner, e) != 0)
			return -1;
		assert(inner.bytes <= strlen(value));
	}
	return strcmp(name, "stop") == 0 ? err_set(e, "XX000", "stop") : 0;
}

/* Fewer bytes may be too few, but never mean something else. */
static void check_prefixes(const uint8_t *data, const struct startup *whole)
{
	struct startup s;

	for (size_t n = 0; n < whole->size && n < 64; n++) {
		const enum startup_kind kind = startup_peek(data, n, &s);

		assert(kind == STARTUP_SHORT || kind == whole->kind);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct startup s;
	struct walk w = { .bytes = 0 };
	struct err e = { "", "" };
	const enum startup_kind kind = startup_peek(data, size, &s);

	assert(kind == s.kind);
	if (s.body != NULL) {
		assert(s.size <= size && s.size <= STARTUP_MAX);
		assert(s.body + s.body_len == data + s.size);
		check_prefixes(data, &s);
	}
	if (kind != STARTUP_MESSAGE)
		return 0;
	if (startup_each(&s, on_pair, &w, &e) != 0)
		assert(e.text[0] != '\0' && strlen(e.code) == 5);
	assert(w.bytes <= s.body_len);
	return 0;
}
