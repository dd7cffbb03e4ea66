/* members.h - a server, a client and the settings of a pool.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_MEMBERS_H
#define POOL_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "conf/options.h"
#include "conf/require.h"
#include "pool/limit_queue.h"

struct listener;
struct pool;

/* Where a server and a client of a pool can stand. */

/* (spec/pooling.md section 4) */
enum server_state {
	SERVER_LOGIN,		/* connecting, TLS, authentication, connect_query */
	SERVER_IDLE,		/* ready for use */
	SERVER_ACTIVE,		/* linked to a client */
	SERVER_USED,		/* idle for long: to be checked first */
	SERVER_TESTED,		/* runs the reset or the check query */
	SERVER_BEING_CANCELED,	/* released, a cancel aimed at it in flight */
	SERVER_ACTIVE_CANCEL,	/* a bare connection with a CancelRequest */
	SERVER_DEDICATED_LOGIN,	/* SERVER_LOGIN, for one client only */
	SERVER_LISTENING,	/* hears notifications for all clients, or is to */
	SERVER_GONE,		/* in no list */
	SERVER_STATES
};

/* (spec/pooling.md section 3); clients that log in are in no pool's list */
enum client_state {
	CLIENT_LOGIN,		/* in no list */
	CLIENT_ACTIVE,		/* logged in: idle, or linked */
	CLIENT_WAITING,		/* queued for a server */
	CLIENT_WELCOME,		/* authenticated; welcome data is missing */
	CLIENT_DEDICATED_WAITING,	/* for a server of its own: replication */
	CLIENT_CANCEL_WAITING,	/* brought a CancelRequest, not sent on yet */
	CLIENT_CANCEL_SENT,	/* sent on; waits for the server to close */
	CLIENT_STATES
};

/* Among the idle servers under a limit; private to limit.c. */
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

/* The settings that a pool goes by. */

/* Effective settings; pool_configure() fills them (section 1). */
struct pool_limits {
	int size, reserve, min;		/* size 0 = no limit */
	enum pool_mode mode;
	enum listen_lost listen_lost;
	enum session_state state;	/* forget in session mode */
	enum session_attrs attrs;	/* which hosts will do */
	usec_t reserve_timeout, login_retry, lifetime, idle_timeout, check_delay;
	usec_t down_timeout;		/* 0 = never, or not for these hosts */
	int login_concurrency, max_db, max_user;	/* 0 = no limit */
	int max_pinned;			/* -1 = no limit */
	usec_t pin_timeout;		/* 0 = never */
	usec_t handover_delay;	/* see limit_heir(); 0 = never */
	usec_t worker_handover_delay;	/* see limit_find_recipient() */
	bool round_robin, check, reset;	/* check query set; reset at release */
	bool can_reset, state_always;	/* reset query set; state_check */
};

/* Clients of a pool with parts that shall go to another worker. */

/* Written in a hold, by app/workers_pools.h, and by the worker as they go. */
struct pool_moves {
	unsigned to, left;		/* so many to that one; UINT_MAX: all */
	unsigned from, looks;		/* at home: the last order, and what */
	usec_t ordered_at;		/* was seen since */
};

#endif
