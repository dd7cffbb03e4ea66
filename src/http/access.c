/* access.c - is a client on this machine, and does it call us by our name?
 * SPDX-License-Identifier: ISC */
#include "http/access.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

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

/* Text that may follow a name: nothing, or a port. */
static bool is_port(const char *s)
{
	return s[0] == '\0' || (s[0] == ':' && s[1] != '\0' &&
	    s[1 + strspn(s + 1, "0123456789")] == '\0');
}

/* The name in the value of Host, NULL: none that is ours. */
static const char *name_of(const char *host, char *buf, size_t size)
{
	const size_t len = host[0] == '[' ? strcspn(host, "]") + 1 :
	    strcspn(host, ":");

	if (len >= size || len > strlen(host) || !is_port(host + len))
		return NULL;
	memcpy(buf, host, len);
	buf[len] = '\0';
	return buf;
}

bool access_names_us(const char *host)
{
	char buf[64];
	const char *const name = name_of(host, buf, sizeof buf);

	/* no browser leaves Host out */
	if (host[0] == '\0')
		return true;
	if (name == NULL)
		return false;
	return is_address(name) || strcmp(name, "[::1]") == 0 ||
	    strcasecmp(name, "localhost") == 0;
}

bool access_names_host(const char *host)
{
	char buf[256], ours[256] = "";
	const char *const name = name_of(host, buf, sizeof buf);

	if (name == NULL || gethostname(ours, sizeof ours - 1) != 0)
		return false;
	return ours[0] != '\0' && strcasecmp(name, ours) == 0;
}
