/* fuzz_request.c - heads of HTTP requests, and the parameters in them.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const buf = malloc(size + 1);
	struct request r;
	size_t used = 0;
	char value[16];

	assert(buf != NULL);
	memcpy(buf, data, size);
	const int status = request_parse(buf, size, &r, &used);

	if (status == REQUEST_READY) {
		assert(used >= 4 && used <= size);
		assert(r.path[0] == '/');
		if (request_parameter(&r, "database", value, sizeof value))
			assert(strlen(value) < sizeof value);
	} else {
		assert(status == REQUEST_MORE || status >= 400);
	}
	free(buf);
	return 0;
}
