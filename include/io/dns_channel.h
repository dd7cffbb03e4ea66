/* dns_channel.h - questions to name servers, by c-ares on the loop.
 * SPDX-License-Identifier: ISC */
#ifndef IO_DNS_CHANNEL_H
#define IO_DNS_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/net.h"
#include "base/time.h"
#include "io/dns.h"

struct dns_channel;
struct err;
struct loop;
struct text;

struct dns_answer {
	int status;		/* of c-ares; 0: there are addresses */
	unsigned count;
	usec_t ttl;		/* the shortest of its records */
	struct net_addr addrs[DNS_ADDRS_MAX];	/* each once, ports 0 */
};

/* See dns_new(), dns_set_servers(). */
struct dns_channel *dns_channel_new(struct loop *l, const char *resolv_conf,
    struct err *e);
/* Questions still open are forgotten: fn is not called. */
void dns_channel_free(struct dns_channel **c);
int dns_channel_set_servers(struct dns_channel *c, const char *servers);

/* fn is called once, perhaps from inside; the answer is lent. */
typedef void dns_answer_fn(void *arg, const struct dns_answer *a);
void dns_channel_ask(struct dns_channel *c, const char *name,
    dns_answer_fn *fn, void *arg);

/* The serial number of a zone, status 0; or the status of c-ares. */
typedef void dns_serial_fn(void *arg, int status, uint32_t serial);
void dns_channel_ask_serial(struct dns_channel *c, const char *zone,
    dns_serial_fn *fn, void *arg);

/* The name that belongs to an address, status 0; or the status of c-ares. */
typedef void dns_name_fn(void *arg, int status, const char *name);
void dns_channel_ask_name(struct dns_channel *c, const struct net_addr *a,
    dns_name_fn *fn, void *arg);

/* Name servers of a resolver configuration that have a port. */

/*
 * Append the server of a line "nameserver ADDRESS[:PORT]" to list, which is
 * for dns_channel_set_servers(); IPv6 with a port stands in brackets. Other
 * lines add nothing.
 * Returns: does it name a port? resolv.conf(5) knows none, nor does c-ares.
 */
bool resolv_conf_line(const char *line, struct text *list);

#endif
