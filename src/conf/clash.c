/* clash.c - two listeners, one place.
 * SPDX-License-Identifier: ISC */
#include "conf/clash.h"

#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/net.h"
#include "conf/config.h"

#define NAME_BYTES 256

/* The next item of a list, cut to size; NULL: there is none. */
static const char *next_item(const char *list, char item[NAME_BYTES])
{
	list += strspn(list, ", \t");
	const size_t n = strcspn(list, ", \t");
	const size_t len = n < NAME_BYTES ? n : NAME_BYTES - 1;

	memcpy(item, list, len);
	item[len] = '\0';
	return n > 0 ? list + n : NULL;
}

static bool is_any(const struct net_addr *a)
{
	static const uint8_t none[sizeof a->ip];

	return memcmp(a->ip, none, sizeof none) == 0;
}

/* Of a name only the one is known that each machine has for itself. */
static int parse(const char *item, struct net_addr *a)
{
	return net_parse_ip(strcasecmp(item, "localhost") == 0 ? "127.0.0.1" :
	    item, 0, a);
}

static bool meet(const char *item, const char *other)
{
	struct net_addr a, b;

	if (strcmp(item, "*") == 0 || strcmp(other, "*") == 0)
		return true;
	return parse(item, &a) == 0 && parse(other, &b) == 0 &&
	    a.family == b.family &&
	    (is_any(&a) || is_any(&b) || net_equal(&a, &b));
}

int clash_check(const struct settings *set, struct err *e)
{
	char item[NAME_BYTES], other[NAME_BYTES];
	const char *at = set->listen_addr;

	if (set->http_listen_port == 0 ||
	    set->http_listen_port != set->listen_port)
		return 0;
	while ((at = next_item(at, item)) != NULL) {
		const char *http = set->http_listen_addr;

		while ((http = next_item(http, other)) != NULL)
			if (meet(item, other))
				return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
				    "http_listen_port %d at %s is where "
				    "clients connect to (listen_port, "
				    "listen_addr %s)", set->http_listen_port,
				    other, item);
	}
	return 0;
}
