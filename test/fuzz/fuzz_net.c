/* fuzz_net.c - texts as addresses and networks.
 * The first NUL separates an address, or network, from a mask.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is written can be read, and is the same. */
static void check_address(const char *text)
{
	char ip[NET_TEXT_MAX];
	struct net_addr a, again;

	if (net_parse_ip(text, 7, &a) < 0)
		return;
	assert(a.family == NET_IPV4 || a.family == NET_IPV6);
	assert(net_parse_ip(net_format_ip(&a, ip, sizeof ip), 7, &again) == 0);
	assert(net_equal(&a, &again));
}

static void flip(struct net_addr *a, unsigned bit)
{
	a->ip[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

/* A bit of an address counts exactly if it is one of the mask. */
static void check_network(const struct net_cidr *c)
{
	const unsigned bits = c->base.family == NET_IPV4 ? 32 : 128;
	struct net_addr a = c->base;

	assert(net_cidr_has(c, &a));
	for (unsigned i = 0; i < bits; i++) {
		const bool counts = (c->mask[i / 8] & 0x80 >> i % 8) != 0;

		flip(&a, i);
		assert(net_cidr_has(c, &a) == !counts);
		flip(&a, i);
	}
	a.family = a.family == NET_IPV4 ? NET_IPV6 : NET_IPV4;
	assert(!net_cidr_has(c, &a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *const nul = size == 0 ? NULL : memchr(data, '\0', size);
	const size_t n = nul == NULL ? size : (size_t)(nul - data);
	char *const text = mem_strndup(n == 0 ? "" : (const char *)data, n);
	char *const mask = nul == NULL ? NULL :
	    mem_strndup((const char *)nul + 1, size - n - 1);
	struct net_cidr c;

	assert(text != NULL);
	check_address(text);
	if (net_parse_cidr(text, mask, &c) == 0)
		check_network(&c);
	mem_free(text);
	mem_free(mask);
	return 0;
}
