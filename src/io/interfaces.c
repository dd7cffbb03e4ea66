/* interfaces.c - the addresses and networks of this machine.
 * SPDX-License-Identifier: ISC */
#include "io/interfaces.h"

#include <ifaddrs.h>
#include <stddef.h>

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
