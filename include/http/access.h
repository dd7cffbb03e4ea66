/* access.h - is a client on this machine, and does it call us by our name?
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_ACCESS_H
#define HTTP_ACCESS_H

#include <stdbool.h>

struct net_addr;

/* Of the loopback interface. */
bool access_is_local(const struct net_addr *peer);
/* The value of Host: names that only this machine can have. */
bool access_names_us(const char *host);
/* The same: the name that this machine gives itself. */
bool access_names_host(const char *host);

#endif
