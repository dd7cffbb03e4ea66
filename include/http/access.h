/* access.h - is who asks on this machine, and do they know whom they ask?
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_ACCESS_H
#define HTTP_ACCESS_H

#include <stdbool.h>

struct net_addr;

/* Of the loopback interface. */
bool access_is_local(const struct net_addr *peer);
/* The value of Host: names of this machine that nobody else can have. */
bool access_names_us(const char *host);
/* The same: the name that this machine gives itself. */
bool access_names_host(const char *host);

#endif
