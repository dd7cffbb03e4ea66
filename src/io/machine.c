/* machine.c - this machine: its addresses, its resolver, its libraries.
 * SPDX-License-Identifier: ISC */
#include "io/machine.h"

#include <ares.h>
#include <errno.h>
#include <event2/event.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/net.h"

int interfaces_have(const struct net_addr *a, bool net)
{
	struct ifaddrs *all;
	struct net_cidr c;
	int found = 0;

	if (getifaddrs(&all) != 0)
		return -1;
	for (const struct ifaddrs *i = all; i != NULL && found == 0;
	    i = i->ifa_next) {
		if (i->ifa_addr == NULL)
			continue;
		net_cidr_from_sockaddr(&c, i->ifa_addr, i->ifa_netmask);
		found = net ? net_cidr_has(&c, a) : net_cidr_is(&c, a);
	}
	freeifaddrs(all);
	return found;
}

int resolve_name(const char *name, struct net_addr *out, size_t max,
    struct err *e)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	};
	struct addrinfo *list = NULL;
	size_t n = 0;
	const int rc = getaddrinfo(name, NULL, &hints, &list);

	if (rc != 0)
		return err_set(e, ERRCODE_CANNOT_CONNECT, "%s: %s", name,
		    rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	for (struct addrinfo *a = list; a != NULL && n < max; a = a->ai_next)
		net_from_sockaddr(&out[n++], a->ai_addr);
	freeaddrinfo(list);
	return (int)n;
}

const char *library_libevent(void)
{
	return event_get_version();
}

const char *library_dns(void)
{
	/* the header's: no call is worth a buffer that lives on */
	return "c-ares " ARES_VERSION_STR;
}

const char *library_tls(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}
