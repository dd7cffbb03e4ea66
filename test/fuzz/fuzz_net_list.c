/* fuzz_net_list.c - a list of networks has what its items have, and no more.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first address that an item means; false: it means none. */
static bool first_of(const char *item, struct net_addr *out)
{
	struct net_cidr c;

	if (strchr(item, '/') == NULL)
		return net_parse_ip(item, 0, out) == 0;
	if (net_parse_cidr(item, NULL, &c) < 0)
		return false;
	net_cidr_unmap(&c);
	*out = c.base;
	return true;
}

/* Returns whether item, of the list whole, is an address or a network. */
static bool check_item(const char *whole, const char *item)
{
	struct net_addr a;
	struct err e;
	const bool good = first_of(item, &a);

	assert((net_list_check(item, &e) == 0) == good);
	if (!good)
		return false;
	assert(net_list_has(item, &a) && net_list_has(whole, &a));
	a.family = NET_UNIX;
	assert(!net_list_has(whole, &a));
	return true;
}

/* Has list an item that a is in? */
static bool has(char *list, const struct net_addr *a)
{
	char *at, *item = strtok_r(list, ", \t\r\n\v\f", &at);

	while (item != NULL && !net_list_has(item, a))
		item = strtok_r(NULL, ", \t\r\n\v\f", &at);
	return item != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_addr a = { .family = size % 2 == 0 ? NET_IPV4 : NET_IPV6 };

	if (size < sizeof a.ip)
		return 0;
	memcpy(a.ip, data, sizeof a.ip);
	data += sizeof a.ip;
	size -= sizeof a.ip;

	char *const list = mem_strndup((const char *)data, size);
	char *const cut = mem_strdup(list), *const again = mem_strdup(list);
	char *at, *item = strtok_r(cut, ", \t\r\n\v\f", &at);
	bool good = true;
	struct err e;

	assert(list != NULL && cut != NULL && again != NULL);
	for (; item != NULL; item = strtok_r(NULL, ", \t\r\n\v\f", &at))
		good = check_item(list, item) && good;
	assert((net_list_check(list, &e) == 0) == good);
	assert(net_list_has(list, &a) == has(again, &a));
	mem_free(list);
	mem_free(cut);
	mem_free(again);
	return 0;
}
