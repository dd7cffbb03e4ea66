/* dns_host.c - the name of the machine that an address belongs to.
 * SPDX-License-Identifier: ISC */
#include "io/dns_host.h"

#include <ares.h>
#include <stddef.h>
#include <utlist.h>

#include "base/container.h"
#include "io/dns_channel.h"
#include "io/dns_parts.h"

/* Each has an id of 16 bits, and c-ares looks for one that is free. */
#define QUESTIONS_MAX 4096

/* c-ares has the host until its answer, wanted or not. */
struct dns_host {
	struct dns *dns;
	struct net_addr addr;
	dns_host_fn *fn;	/* NULL: the answer is not wanted any more */
	void *arg;
	char *name;		/* owned; NULL: not known */
	enum dns_host_state state;
	bool over;		/* state counts */
	struct loop_task task;
	struct dns_host *prev, *next;
};

static void host_free(struct dns_host *h)
{
	DL_DELETE(h->dns->hosts, h);
	loop_cancel(&h->task);
	mem_free(h->name);
	mem_free(h);
}

static void dns_host_deliver(struct loop_task *t)
{
	struct dns_host *const h = container_of(t, struct dns_host, task);
	char *const name = h->name;
	const enum dns_host_state state = h->state;
	dns_host_fn *const fn = h->fn;
	void *const arg = h->arg;

	h->name = NULL;
	host_free(h);
	if (fn != NULL)
		fn(arg, state, name);
	mem_free(name);
}

static void dns_host_finish(struct dns_host *h, enum dns_host_state state)
{
	h->state = state;
	h->over = true;
	loop_again(h->dns->loop, &h->task);
}

/* Did a server say that there is nothing? */
static enum dns_host_state dns_host_state_of(int status)
{
	return status == ARES_ENOTFOUND || status == ARES_ENODATA ?
	    DNS_HOST_NONE : DNS_HOST_SILENT;
}

static void dns_host_on_addrs(void *arg, const struct dns_answer *a)
{
	struct dns_host *const h = arg;

	for (unsigned i = 0; i < a->count; i++) {
		struct net_addr known = a->addrs[i];

		known.port = h->addr.port;
		known.pid = h->addr.pid;	/* scope, if IPv6 */
		if (net_equal(&known, &h->addr)) {
			dns_host_finish(h, DNS_HOST_KNOWN);
			return;
		}
	}
	/* of very many some were left out */
	if (a->status == ARES_SUCCESS)
		dns_host_finish(h, a->count < DNS_ADDRS_MAX ? DNS_HOST_NONE :
		    DNS_HOST_SILENT);
	else
		dns_host_finish(h, dns_host_state_of(a->status));
}

static void on_name(void *arg, int status, const char *name)
{
	struct dns_host *const h = arg;

	if (status != ARES_SUCCESS || h->fn == NULL) {
		dns_host_finish(h, dns_host_state_of(status));
		return;
	}
	h->name = mem_strdup(name);
	if (h->name == NULL)
		dns_host_finish(h, DNS_HOST_SILENT);
	else
		dns_channel_ask(h->dns->channel, h->name, dns_host_on_addrs, h);
}

/* But for the port, which is another each time. */
static bool same_machine(const struct net_addr *a, const struct net_addr *b)
{
	struct net_addr other = *b;

	other.port = a->port;
	return net_equal(a, &other);
}

/*
 * A client that comes again takes up the question that it left behind: else
 * one machine could have any number of them asked. Returns false when there is
 * none, and room for another; *h is NULL when there is neither.
 */
static bool take_left(struct dns *d, const struct net_addr *a,
    struct dns_host **h)
{
	unsigned n = 0;

	DL_FOREACH(d->hosts, *h) {
		if ((*h)->fn == NULL && !(*h)->over &&
		    same_machine(a, &(*h)->addr))
			return true;
		n++;
	}
	return n >= QUESTIONS_MAX;
}

struct dns_host *dns_host_ask(struct dns *d, const struct net_addr *a,
    dns_host_fn *fn, void *arg)
{
	struct dns_host *h;

	if (take_left(d, a, &h)) {
		if (h != NULL) {
			h->fn = fn;
			h->arg = arg;
		}
		return h;
	}
	h = mem_zalloc(sizeof *h);
	if (h == NULL)
		return NULL;
	h->dns = d;
	h->addr = *a;
	h->fn = fn;
	h->arg = arg;
	h->task.run = dns_host_deliver;
	DL_APPEND(d->hosts, h);
	dns_channel_ask_name(d->channel, a, on_name, h);
	return h;
}

void dns_host_cancel(struct dns_host **hp)
{
	struct dns_host *const h = *hp;

	*hp = NULL;
	if (h != NULL)
		h->fn = NULL;
}

void dns_hosts_fini(struct dns *d)
{
	while (d->hosts != NULL)
		host_free(d->hosts);
}
