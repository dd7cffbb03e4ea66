/* server_phases.h - what acts for a server in each phase (app/wiring.c).
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SERVER_PHASES_H
#define SESSION_SERVER_PHASES_H

#include <stdbool.h>

#include "pool/close_reason.h"

struct server;
struct track_ops;
struct writer;

/* One row for each phase. Each call may close the server. */
struct server_phase_ops {
	const char *name;	/* for the log */
	/* server_begin() has come to this phase; NULL: nobody begins it */
	void (*begin)(struct server *s);
	/* Bytes can be read; NULL: there is no connection yet. */
	void (*input)(struct server *s);
	/* The overflow queue is empty again; NULL: nobody waits for that. */
	void (*drained)(struct server *s);
	/* Would the server take Terminate for a message now? NULL: no. */
	bool (*can_terminate)(const struct server *s);
	bool timed;		/* by the time-out that began at the launch */
};

/* Calls upward. Each may close the server; the caller looks no further. */
struct server_ops {
	const struct server_phase_ops *phases;	/* by enum server_phase */
	const struct track_ops *track;	/* arg: the server */
	/* Login done: ps.state is still that of a login. */
	void (*ready)(struct server *s);
	/*
	 * What the client of a dedicated server wants in the StartupMessage.
	 * Returns: does that connection know SQL?
	 */
	bool (*introduce)(const struct server *s, struct writer *w);
	/* s is closed: leave client and pool. s->failure: see server_fail() */
	void (*closed)(struct server *s, struct close_cause why);
};

#endif
