/* net_list.c - networks in a text: "10.0.0.0/8, 192.0.2.7, fd00::/8".
 * SPDX-License-Identifier: ISC */
#include "base/net_list.h"

#include <string.h>

#include "base/err.h"
#include "base/net.h"

/* The next item, its length in n; NULL: there is none. */
static const char *next_item(const char *list, size_t *n)
{
	static const char between[] = ", \t\r\n\v\f";

	list += strspn(list, between);
	*n = strcspn(list, between);
	return *n > 0 ? list : NULL;
}

static int parse_item(const char *item, size_t n, struct net_cidr *out)
{
	char text[NET_TEXT_MAX];

	if (n >= sizeof text)
		return -1;
	memcpy(text, item, n);
	text[n] = '\0';
	if (memchr(item, '/', n) != NULL) {
		if (net_parse_cidr(text, NULL, out) < 0)
			return -1;
		net_cidr_unmap(out);
		return 0;
	}
	memset(out->mask, 0xff, sizeof out->mask);
	return net_parse_ip(text, 0, &out->base);
}

int net_list_check(const char *list, struct err *e)
{
	struct net_cidr c;
	size_t n;

	for (; (list = next_item(list, &n)) != NULL; list += n) {
		if (parse_item(list, n, &c) < 0)
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "\"%.*s\" is no address or network",
			    (int)(n > NET_TEXT_MAX ? NET_TEXT_MAX : n), list);
	}
	return 0;
}

bool net_list_has(const char *list, const struct net_addr *a)
{
	struct net_cidr c;
	size_t n;

	for (; (list = next_item(list, &n)) != NULL; list += n) {
		if (parse_item(list, n, &c) == 0 && net_cidr_has(&c, a))
			return true;
	}
	return false;
}
