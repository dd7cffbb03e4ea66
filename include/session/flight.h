/* flight.h - the SETs for a client and its first request, sent together.
 *
 * The SETs are a transaction of their own. Its end is part of the same batch as
 * the client's request. If anything fails, PostgreSQL skips everything up to
 * the Sync after the request. So the request has either run with all of its
 * settings, or not at all. In that case it is sent again, after SETs that are
 * waited for. (spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_FLIGHT_H
#define SESSION_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"
#include "session/carry.h"

struct baggage;
struct client;
struct params;
struct server;

#define FLIGHT_MAX 4096		/* bytes of the request that are kept */

/* It exists from the time the server is lent until the SETs are answered. */
struct flight {
	struct baggage *had;	/* counted: settings that the server had, see
				 * keep.h */
	struct params *params;	/* counted: the same of params.h */
	struct writer sets;	/* messages ahead of the request */
	size_t used, len;	/* bytes of the request: sent, and all */
	bool drawn;		/* the server may have had numbers of
				 * sequences */
	bool begun;		/* the SETs were sent */
	bool failed;
	bool ends_badly;	/* ... but something after them failed */
	uint8_t bytes[];	/* the request as it came */
};

/*
 * For the first request of c, with which `ahead` begins. NULL: not this
 * request.
 */
struct flight *flight_new(const struct client *c, const struct server *s,
    const struct burst *ahead);
/* Sets the SETs: n queries, each with its NUL. Returns 0, or -1: no memory. */
int flight_load(struct flight *f, const char *sql, int n);
void flight_free(struct flight **f);

/* Is the next request the first one that s gets from its client? */
bool flight_is_fresh(const struct server *s);

#endif
