/* own_queries.h - what follows a query that the pooler itself sends to a
 * server.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_OWN_QUERIES_H
#define RELAY_OWN_QUERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"
#include "pool/close_reason.h"
#include "session/own_query.h"

struct client;
struct server;

/* What an ErrorResponse means, unless it ends the server. */
enum own_error {
	OWN_ERROR_CLOSES,	/* nobody knows what the session has */
	OWN_ERROR_REPEATS,	/* a cancel may have hit it: ask again */
	OWN_ERROR_REFUSES,	/* the client that waits wants such a value */
};

struct own_query_row {
	/* size bytes of a DataRow; NULL: rows are not read */
	void (*row)(struct server *s, const void *row, size_t size);
	/* c, which is linked to s, waits for this. Each may close both. */
	void (*done)(struct client *c, struct server *s);
	/* No client waits. True: s was asked more. NULL: nothing follows. */
	bool (*goes_on)(struct server *s);
	/* Before s is closed for it; text says why. NULL: nothing more. */
	void (*failed)(struct server *s, const char *text);
	enum own_error error;
	enum close_reason failure, late;	/* why s is closed */
	bool in_transaction;	/* it may run in a transaction of the client */
};

/* The row of what s runs now. */
const struct own_query_row *own_query_row(const struct server *s);
/* s has answered all of it. s may be closed. */
void own_query_done(struct server *s);
/* It has failed, as message says: tells the log, and closes s. */
void own_query_failed(struct server *s, const char *message);
/*
 * It began at `since`, and is not answered: closes s, and servers at the same
 * address that have been silent as long.
 */
void own_query_late(struct server *s, usec_t since);

#endif
