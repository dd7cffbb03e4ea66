/* dns.h - host names to addresses, asynchronously, with a cache (c-ares).
 * SPDX-License-Identifier: ISC */
#ifndef IO_DNS_H
#define IO_DNS_H

#include "base/net.h"
#include "base/time.h"

struct dns;
struct dns_query;
struct err;
struct loop;

struct dns *dns_new(struct loop *l, const char *resolv_conf, struct err *e);
void dns_free(struct dns **d);

/* count 0: failed, error says why. Addresses without port; valid in the call. */
typedef void dns_fn(void *arg, const struct net_addr *addrs, unsigned count,
    const char *error);

/* Never calls fn from inside this function. NULL: no memory. */
struct dns_query *dns_lookup(struct dns *d, const char *name, dns_fn *fn,
    void *arg);
void dns_cancel(struct dns_query *q);	/* fn will not be called */

void dns_set_ttl(struct dns *d, usec_t max_ttl, usec_t negative_ttl);

#endif
