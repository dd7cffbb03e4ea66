/* catalog_count.h - how many clients there are, here and at all workers.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_CATALOG_COUNT_H
#define POOL_CATALOG_COUNT_H

#include "pool/catalog.h"

/* One client more, or less, in this part; other threads may look. */
static inline void catalog_count_client(struct catalog *c, int n)
{
	atomic_store_explicit(&c->clients, atomic_load_explicit(&c->clients,
	    memory_order_relaxed) + (unsigned)n, memory_order_relaxed);
}

/* It has come, or is gone: in all parts together. */
static inline void catalog_count_socket(struct catalog *c, int n)
{
	if (c->part.clients != NULL)
		atomic_fetch_add(c->part.clients, (unsigned)n);
	catalog_count_client(c, n);
}

/* Of all parts, and of those who are between two. */
static inline unsigned catalog_clients(const struct catalog *c)
{
	return c->part.clients != NULL ? atomic_load(c->part.clients) :
	    c->clients;
}

/* One more of them, or less, brought a key that a peer may know. */
static inline void catalog_count_request(struct catalog *c, int n)
{
	if (c->part.requests != NULL)
		atomic_fetch_add(c->part.requests, (unsigned)n);
	else
		c->requests += (unsigned)n;
}

/* The same: at the first worker, and for all to know. */
static inline unsigned catalog_requests(const struct catalog *c)
{
	return c->part.requests != NULL ? atomic_load(c->part.requests) :
	    c->requests;
}

/* One more console, or less, and how many there are: the same. */
static inline void catalog_count_console(struct catalog *c, int n)
{
	if (c->part.consoles != NULL)
		atomic_fetch_add(c->part.consoles, (unsigned)n);
	else
		c->consoles += (unsigned)n;
}

static inline unsigned catalog_consoles(const struct catalog *c)
{
	return c->part.consoles != NULL ? atomic_load(c->part.consoles) :
	    c->consoles;
}

#endif
