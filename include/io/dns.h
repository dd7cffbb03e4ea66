/* dns.h - names to addresses while the loop runs, by c-ares, with a cache.
 * SPDX-License-Identifier: ISC */
#ifndef IO_DNS_H
#define IO_DNS_H

#include <stddef.h>
#include <stdint.h>

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
 * For tests: ask these servers instead: "host[:port],...", IPv6 as "[::1]:53".
 * 0, or -1 when that is no such list. Before the first lookup.
 */
int dns_set_servers(struct dns *d, const char *servers);
/*
 * How long an answer is used at most (its records may say less), and how long
 * a failure; 0 = for the queries that wait for it only.
 * Source: pgsluice.ini(5), dns_max_ttl, dns_nxdomain_ttl.
 */
void dns_set_ttl(struct dns *d, usec_t max_ttl, usec_t negative_ttl);
/* Names that had no address are asked for anew when they are needed. */
void dns_forget_failures(struct dns *d);
/*
 * Ask every period for the serial numbers of the zones of all names known,
 * and for the names of one whose number rose; 0 = never. 0, or -1: no memory.
 */
int dns_set_zone_period(struct dns *d, usec_t period);
/*
 * fn is called, from the loop, for each address that a name had before and
 * lacks in its latest answer. fn may look up names, and cancel queries.
 */
typedef void dns_lost_fn(void *arg, const char *name,
    const struct net_addr *addr);
void dns_on_lost(struct dns *d, dns_lost_fn *fn, void *arg);

/*
 * The addresses of the name, ports 0, valid during the call. count 0: none,
 * error is the status of c-ares (else 0). Addresses this machine has no route to are
 * left out when there are others. The query is over. When servers give no
 * answer at all the last known addresses are given again.
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
/* Leave this address of name out until then, as long as there are others. */
void dns_avoid(struct dns *d, const char *name, const struct net_addr *addr,
    usec_t until);

/* --- for SHOW --- */

struct dns_stat {
	size_t names;		/* in the cache */
	size_t zones;		/* zones of these names */
	size_t pending;		/* names being asked for now */
	size_t queries;		/* queries that wait for an answer */
};

void dns_stat(const struct dns *d, struct dns_stat *out);

/* One name of the cache. */
struct dns_name {
	const char *name;
	const struct net_addr *addrs;
	unsigned count;		/* 0: failed, or not answered yet */
	usec_t ttl;		/* time left; 0 = ask again */
};

/* Valid during each call; fn returns non-zero to stop. */
void dns_each(const struct dns *d, int (*fn)(void *arg,
    const struct dns_name *n), void *arg);

/* One zone: what follows the first dot of a name. */
struct dns_zone {
	const char *name;
	uint32_t serial;	/* 0: not known yet */
	unsigned names;
};

void dns_each_zone(const struct dns *d, int (*fn)(void *arg,
    const struct dns_zone *z), void *arg);

#endif
