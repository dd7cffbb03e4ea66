/* fuzz_tls_protocols.c - any bytes as the value of *_tls_protocols.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/tls_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const text = malloc(size + 1);
	unsigned set = 0;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (tls_protocols_parse(text, &set) == 0)
		assert(set != 0 && set < 16);
	free(text);
	return 0;
}
