/* dns_parts.h - what the cache of names consists of; private to dns*.c.
 * SPDX-License-Identifier: ISC */
#ifndef IO_DNS_PARTS_H
#define IO_DNS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "io/dns.h"
#include "io/loop.h"

struct dns_channel;
struct dns_host;
struct event;

/* A call of dns_lookup() that waits for its answer. */
struct dns_query {
	struct name *name;		/* borrowed; counted in its users */
	dns_fn *fn;
	void *arg;
	struct dns_query **list;	/* the DL list it is in */
	struct dns_query *prev, *next;
};

/* An address, and until when other addresses are preferred to this one. */
struct known {
	struct net_addr addr;
	usec_t avoid;
};

/* A name in the cache. */
struct name {
	struct dns *dns;
	struct zone *zone;		/* borrowed; NULL: no dot */
	bool asking;			/* on_answer() will be called */
	unsigned users;			/* queries for this name, in any list */
	unsigned count;			/* of the last good answer */
	struct known *addrs;		/* owned */
	unsigned lost_count;
	struct net_addr *lost;		/* owned; addresses not reported yet */
	int error;			/* status of c-ares, latest; 0 = good */
	usec_t expires;			/* 0: nothing is known */
	usec_t asked;			/* when, while asking */
	struct dns_query *waiting;	/* DL list, owned: no answer yet */
	UT_hash_handle hh;		/* in order of the first question */
	char text[];
};

struct zone {
	struct dns *dns;
	unsigned names;			/* 0: freed when its answer is in */
	bool asking;			/* on_serial() will be called */
	bool known;
	uint32_t serial;
	UT_hash_handle hh;
	char text[];
};

struct dns {
	struct loop *loop;		/* borrowed */
	struct dns_channel *channel;	/* owned */
	struct name *names;		/* hash, owned */
	struct zone *zones;		/* hash, owned */
	struct event *patience;		/* owned: then old addresses do */
	struct event *zone_timer;	/* owned; NULL: zones are not asked */
	usec_t zone_period;
	struct dns_query *due;		/* DL list, owned: next turn */
	struct dns_query *now;		/* DL list, owned: this turn */
	struct dns_host *hosts;		/* DL list, owned: being asked for */
	struct loop_task task;		/* serves due, and tells of lost */
	dns_lost_fn *on_lost;
	void *on_lost_arg;
	bool any_lost;
	bool inside;			/* dns_channel_ask() */
	usec_t max_ttl, negative_ttl;
};

/* Ask for n, which nobody asks for yet; the answer goes to its queries. */
void dns_ask(struct dns *d, struct name *n);

/* The zone of a name, counted; NULL: the name is in none, or no memory. */
struct zone *dns_zone_ref(struct dns *d, const char *name);
void dns_zone_unref(struct dns *d, struct zone *z);	/* z may be NULL */
/* Forget all zones, and ask no more. */
void dns_zones_fini(struct dns *d);

#endif
