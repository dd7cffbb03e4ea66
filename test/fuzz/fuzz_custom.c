/* fuzz_custom.c - names of custom parameters, in a text and in a Bind of it.
 *
 * The input is the text, up to a NUL, and what follows the names in a Bind.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "proto/custom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(void *arg, const char *name)
{
	assert(name[0] != '\0');
	return custom_put(arg, name);
}

/* To their last bytes, so that a sanitizer sees what is read behind these. */
static void read_in(const char *encoding, const uint8_t *data, size_t size)
{
	const uint8_t *const nul = memchr(data, '\0', size);
	const size_t n = nul == NULL ? size : (size_t)(nul - data) + 1;
	char *const sql = mem_dup(data, n);
	uint8_t *const values = n == size ? NULL : mem_dup(data + n, size - n);
	struct custom known;
	struct custom_reader r = { .take = take, .arg = &known,
		.encoding = encoding };

	/* atomic pointers have no common initializer */
	memset(&known, 0, sizeof known);
	assert(sql != NULL && (n == size || values != NULL));

	(void)custom_read(&r, sql, n);
	assert(r.bound == custom_bound(sql, n));
	if (values != NULL)
		(void)custom_read_bind(&r, values, size - n);
	custom_fini(&known);
	mem_free(values);
	mem_free(sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const encodings[] = { NULL, "UTF8", "SJIS",
		"LATIN1" };

	for (size_t i = 0; size > 0 &&
	    i < sizeof encodings / sizeof *encodings; i++)
		read_in(encodings[i], data, size);
	return 0;
}
