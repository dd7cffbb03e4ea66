/* server_phase.h - what a server connection is at.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SERVER_PHASE_H
#define SESSION_SERVER_PHASE_H

enum server_phase {
	SERVER_PHASE_NEW,	/* nothing was done yet */
	SERVER_PHASE_CONNECT,	/* hosts are looked up and connected to */
	SERVER_PHASE_TLS,	/* asked for, or the handshake */
	SERVER_PHASE_AUTH,	/* StartupMessage sent */
	SERVER_PHASE_SYNC,	/* authenticated; parameters and key come */
	SERVER_PHASE_ROLE,	/* whether it is a standby is asked for */
	SERVER_PHASE_QUERY,	/* connect_query runs */
	SERVER_PHASE_ORIGIN,	/* what it has set is asked for */
	SERVER_PHASE_POOLED,	/* login is over: ps.state tells the rest */
	SERVER_PHASE_LOOKUP,	/* runs auth_query for a client's login */
	SERVER_PHASE_CANCEL,	/* carries a CancelRequest */
	SERVER_PHASES
};

#endif
