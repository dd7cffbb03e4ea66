/* dns_host.h - the name of the machine that an address belongs to.
 * SPDX-License-Identifier: ISC */
#ifndef IO_DNS_HOST_H
#define IO_DNS_HOST_H

struct dns;
struct dns_host;
struct net_addr;

enum dns_host_state {
	DNS_HOST_SILENT,	/* no server gave an answer, or no memory */
	DNS_HOST_NONE,		/* no name, or not with this address */
	DNS_HOST_KNOWN,
};

/* name: DNS_HOST_KNOWN only, valid during the call. The question is over. */
typedef void dns_host_fn(void *arg, enum dns_host_state state,
    const char *name);

/*
 * Ask for the name of the address, and then for the addresses of this name,
 * one of which must be a. Nothing is kept for the next time. fn is called once,
 * from the loop, never from inside this function. NULL: no memory, or far too
 * many questions are open.
 */
struct dns_host *dns_host_ask(struct dns *d, const struct net_addr *a,
    dns_host_fn *fn, void *arg);
/* fn will not be called. NULLs *h. */
void dns_host_cancel(struct dns_host **h);

/* For dns_free(): free all hosts. */
void dns_hosts_fini(struct dns *d);

#endif
