/* fuzz_proxy_header.c - what a balancer says of a connection.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <string.h>

#include "io/proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fewer bytes may be too few, but never mean something else. */
static void check_prefixes(const uint8_t *data, const struct proxy_header *h)
{
	for (size_t n = 0; n < h->size && n < 256; n++)
		assert(proxy_header_peek(data, n).kind == PROXY_SHORT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct proxy_header h = proxy_header_peek(data, size);
	char text[NET_TEXT_MAX];

	if (h.kind != PROXY_LOCAL && h.kind != PROXY_PASSED)
		return 0;
	assert(h.size > 0 && h.size <= size && h.size <= PROXY_HEADER_MAX);
	check_prefixes(data, &h);
	if (h.kind == PROXY_PASSED) {
		assert(h.source.family == NET_IPV4 ||
		    h.source.family == NET_IPV6);
		assert(strlen(net_format(&h.source, text, sizeof text)) > 0);
	}
	return 0;
}
