/* drain.h - hosts that no new server connection goes to.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_DRAIN_H
#define POOL_DRAIN_H

#include <stdbool.h>

#include "base/net.h"

struct catalog;
struct pool;

/* One host, as a database names it: a name, an address, a folder. */
struct drain {
	struct drain *next;
	char host[256];
};

#define DRAIN_MAX 100

/* 0 (it may be there already), or -1: too many, or no memory. */
int drain_add(struct catalog *c, const char *host);
/* NULL: all of them. Returns false when it was not there. */
bool drain_remove(struct catalog *c, const char *host);

/* Is a host of a database's list drained; or addr, which a name led to? */
bool drain_has(const struct catalog *c, const char *host,
    const struct net_addr *addr);
/* Has p no host left to connect to? */
bool drain_stops(const struct catalog *c, const struct pool *p);

#endif
