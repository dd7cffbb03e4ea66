/* flight.h - the SETs for a client and its first request, in one flight.
 *
 * The SETs are a transaction of their own, whose end is a part of the batch that
 * the client's request is in: if anything fails, PostgreSQL skips all up to the
 * Sync behind the request. So that has either all of its settings, or it has
 * not run, and is sent again, behind SETs that are waited for.
 * (spec/pooling.md section 25)
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

#define FLIGHT_MAX 4096		/* bytes of a request that is kept */

/* From the time the server is lent to the time the SETs are answered. */
struct flight {
	struct baggage *had;	/* counted; what the server had before, of */
	struct params *params;	/* counted; ... keep.h, and of params.h */
	struct writer sets;	/* messages that go ahead of the request */
	size_t used, len;	/* bytes of the request: gone, and all */
	bool drawn;		/* numbers of sequences are among what s had */
	bool begun;		/* the SETs have gone */
	bool failed;
	bool ends_badly;	/* ... behind the SETs themselves */
	uint8_t bytes[];	/* the request, as it came */
};

/* For what c asks first, which ahead begins with. NULL: not that one. */
struct flight *flight_new(const struct client *c, const struct server *s,
    const struct burst *ahead);
/* n queries, each with its NUL, are the SETs. 0, or -1: no memory. */
int flight_load(struct flight *f, const char *sql, int n);
void flight_free(struct flight **f);

/* Is the request that comes now the first thing that s does for its client? */
bool flight_is_fresh(const struct server *s);

#endif
