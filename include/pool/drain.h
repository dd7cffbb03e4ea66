/* drain.h - hosts that no new server connection goes to.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_DRAIN_H
#define POOL_DRAIN_H

#include <stdbool.h>

#include "base/net.h"
#include "base/time.h"

struct catalog;
struct pool;

/* One host, as a database names it: a name, an address, a folder. */
struct drain {
	struct drain *next;
	char host[256];
	struct net_addr addr;	/* none: it is no address */
};

#define DRAIN_MAX 100

/* 0 (it may be there already), or -1: too many, or no memory. */
int drain_add(struct catalog *c, const char *host);
/*
 * NULL: all of them. Pools look again to where their names lead. Returns false
 * when it was not there.
 */
bool drain_remove(struct catalog *c, const char *host);

/*
 * Is a host of a database's list drained; or addr (NULL: not known), which it
 * is, or its name leads to? However an address is written.
 */
bool drain_has(const struct catalog *c, const char *host,
    const struct net_addr *addr);
/*
 * Has p no host left to connect to? All of its list are drained; or it was
 * found lately (p->drained_at) that names lead to nothing else.
 */
bool drain_stops(const struct catalog *c, const struct pool *p, usec_t now);

#endif
