/* access.c - is who asks on this machine, and do they know whom they ask?
 * SPDX-License-Identifier: ISC */
#include "http/access.h"

#include <string.h>
#include <strings.h>

#include "base/net.h"

bool access_is_local(const struct net_addr *peer)
{
	static const char *const nets[] = { "127.0.0.0/8", "::1/128" };

	for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
		struct net_cidr net;

		if (net_parse_cidr(nets[i], NULL, &net) == 0 &&
		    net_cidr_has(&net, peer))
			return true;
	}
	return false;
}

/* Of this machine, and whole, so no name that begins like one. */
static bool is_address(const char *host)
{
	struct net_addr a;

	return strncmp(host, "127.", 4) == 0 &&
	    net_parse_ip(host, 1, &a) == 0 && access_is_local(&a);
}

/* What may follow a name: nothing, or a port. */
static bool is_port(const char *s)
{
	return s[0] == '\0' || (s[0] == ':' && s[1] != '\0' &&
	    s[1 + strspn(s + 1, "0123456789")] == '\0');
}

bool access_names_us(const char *host)
{
	char name[64];
	const size_t len = host[0] == '[' ? strcspn(host, "]") + 1 :
	    strcspn(host, ":");

	/* no browser leaves it out */
	if (host[0] == '\0')
		return true;
	if (len >= sizeof name || len > strlen(host) || !is_port(host + len))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	return is_address(name) || strcmp(name, "[::1]") == 0 ||
	    strcasecmp(name, "localhost") == 0;
}
