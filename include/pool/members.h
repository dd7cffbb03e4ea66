/* members.h - a server and a client as their pool sees them.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_MEMBERS_H
#define POOL_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "pool/limit_queue.h"

struct listener;
struct pool;
struct pool_client;
struct pool_server;

/* Among the idle servers under a limit; private to evict.c. */
struct evict_place {
	struct pool_server *prev, *next;	/* prev NULL: not there */
};

/* To another worker; see transfer/server_move.h. */
enum trip {
	TRIP_NONE,
	TRIP_AHEAD,	/* it leaves at the end of the turn: nobody gets it */
	TRIP_MAIL,	/* it is on its way */
};

/* Embedded in struct server. */
struct pool_server {
	struct pool_server *prev, *next;
	struct pool *pool;
	struct pool_client *client;	/* linked, or the owner, or NULL */
	usec_t born;			/* when launched */
	usec_t used;			/* last traffic */
	unsigned cancels;		/* cancel requests sent, not finished */
	uint8_t state;			/* enum server_state */
	bool close_needed;		/* obsolete: close when released */
	bool dedicated;			/* of one client, never lent to another */
	bool lent;			/* a client has had it */
	bool stained;			/* and may have left something there:
					 * see session_state */
	uint8_t mode;			/* enum pool_mode as it was linked last:
					 * that decides how it is given back */
	uint8_t trip;			/* enum trip */
	uint8_t to;			/* the worker, where it is ahead */
	struct evict_place evict[LIMIT_KINDS];
};

/* May an idle one be lent? */
static inline bool pool_is_usable(const struct pool_server *ps)
{
	return !ps->close_needed && ps->trip == TRIP_NONE;
}

/* Embedded in struct client. */
struct pool_client {
	struct pool_client *prev, *next;
	struct pool *pool;		/* NULL until the login knows */
	struct pool_server *server;	/* linked, or its own in login, or NULL */
	usec_t wait_since;		/* waiting: since when */
	uint8_t state;			/* enum client_state */
	bool lookup;			/* auth_query runs for it: never
					 * changed while it waits */
	bool urgent;			/* ... and it logs in to the console:
					 * PAUSE does not stop it */
};

/* Embedded in struct pool: who listens for its clients. */
struct pool_hearing {
	struct listener *listener;	/* owned by notify/channels.h; NULL */
	usec_t idle_since;		/* nobody listens; 0 = somebody does */
	bool wanted;			/* a connection, which is not there */
};

/* The other workers that have parts of a pool; private to parts.c. */
struct pool_parts {
	uint64_t open;			/* bits: those that take new clients */
	unsigned dealt;			/* the last one that was given one */
	usec_t quiet_since;		/* 0: it is not */
};

#endif
