/* fuzz_traceparent.c - any bytes as a statement with a comment.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/traceparent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const sql = malloc(size > 0 ? size : 1);
	char out[TRACEPARENT_BYTES];
	size_t len;

	if (sql == NULL)
		return 0;
	memcpy(sql, data, size);
	const char *const value = traceparent_seek(sql, size, &len);

	if (value != NULL)
		assert(value >= sql && value + len <= sql + size);
	if (value != NULL && traceparent_read(value, len, out)) {
		assert(strlen(out) == TRACEPARENT_BYTES - 1);
		assert(strspn(out, "0123456789abcdef-") == strlen(out));
	}
	free(sql);
	return 0;
}
