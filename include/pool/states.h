/* states.h - where a server and a client of a pool can stand.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_STATES_H
#define POOL_STATES_H

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

#endif
