/* dns.h - names to addresses while the loop runs, by c-ares, with a cache.
 * SPDX-License-Identifier: ISC */
#ifndef IO_DNS_H
#define IO_DNS_H

#include <stddef.h>

#include "base/net.h"
#include "base/time.h"

struct dns;
struct dns_query;
struct err;
struct loop;

#define DNS_NAMES_MAX 10000	/* in the cache; the oldest leave first */
#define DNS_ADDRS_MAX 32	/* of one name; more are left out */

/*
 * resolv_conf: path of the resolver's configuration, NULL or "" = system.
 * Names are kept until dns_set_ttl() for no time at all. NULL with e set:
 * the file can't be read, or no memory.
 */
struct dns *dns_new(struct loop *l, const char *resolv_conf, struct err *e);
/* Queries still open are forgotten: fn is not called. Not from inside fn. */
void dns_free(struct dns **d);
/*
 * Ask these servers instead: "host[:port],...", IPv6 as "[::1]:53". 0, or -1
 * when that is no such list. Before the first lookup.
 */
int dns_set_servers(struct dns *d, const char *servers);
/*
 * How long an answer is used, and how long a failure; 0 = for those only who
 * wait for it. Source: spec/settings.md, dns_max_ttl, dns_nxdomain_ttl.
 */
void dns_set_ttl(struct dns *d, usec_t max_ttl, usec_t negative_ttl);

/*
 * The addresses of the name, ports 0, valid during the call. count 0: none,
 * error is the status of c-ares (else 0). Addresses this machine has no route to are
 * left out when there are others. The query is over.
 */
typedef void dns_fn(void *arg, const struct net_addr *addrs, unsigned count,
    int error);

/*
 * Look up name, from the cache, /etc/hosts or a server. fn is called once,
 * from the loop, never from inside this function. Several queries for a name
 * share one question. NULL: no memory, or too many names in use.
 */
struct dns_query *dns_lookup(struct dns *d, const char *name, dns_fn *fn,
    void *arg);
/* fn will not be called; the answer is still kept. */
void dns_cancel(struct dns_query *q);

/* --- for SHOW --- */

struct dns_stat {
	size_t names;		/* in the cache */
	size_t pending;		/* of these: being asked for now */
	size_t queries;		/* that wait for an answer */
};

void dns_stat(const struct dns *d, struct dns_stat *out);

/* One name of the cache. */
struct dns_name {
	const char *name;
	const struct net_addr *addrs;
	unsigned count;		/* 0: failed, or not answered yet */
	usec_t ttl;		/* that is left; 0 = ask again */
};

/* Valid during each call. */
void dns_each(const struct dns *d, void (*fn)(void *arg,
    const struct dns_name *n), void *arg);

#endif
