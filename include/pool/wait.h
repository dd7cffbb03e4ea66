/* wait.h - why the clients of a pool wait for a server.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_WAIT_H
#define POOL_WAIT_H

#include "base/time.h"
#include "pool/members.h"

struct catalog;
struct pool;

enum wait_reason {
	WAIT_NONE,		/* in this state nobody waits for a server */
	WAIT_PAUSED,		/* PAUSE, KILL, DRAIN */
	WAIT_DRAINED,		/* DRAIN HOST: none is left to connect to */
	WAIT_POOL_SIZE,		/* the pool has all the servers it may have */
	WAIT_PINNED,		/* and all of them are kept for clients */
	WAIT_MAX_DB,		/* so has the database */
	WAIT_MAX_USER,		/* so has the user */
	WAIT_LOGIN,		/* for a connection that is being made */
	WAIT_PASSWORD,		/* ... whose password is being fetched */
	WAIT_LOGIN_FAILED,	/* the last attempt failed */
	WAIT_HOST,		/* ... and target_session_attrs is to be met */
	WAIT_CHECK,		/* for a server that is reset or checked */
	WAIT_REASONS
};

/*
 * What keeps the last client that waits in this state (one of enum
 * client_state) from a server: the first one may be about to get one.
 */
enum wait_reason wait_reason(const struct pool *p, enum client_state state,
    const struct catalog *c, usec_t now);

/* As SHOW says it; NULL for WAIT_NONE. */
const char *wait_name(enum wait_reason reason);
/* The setting or command to look at; NULL for WAIT_NONE. */
const char *wait_setting(enum wait_reason reason);

/* For the client: sentences that say why, and what can be done. */
struct wait_text {
	char detail[1200];
	char hint[256];
};
void wait_explain(const struct pool *p, enum wait_reason reason,
    struct wait_text *out);

#endif
