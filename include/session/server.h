/* server.h - a server connection: connect, start-up, authentication, idle.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SERVER_H
#define SESSION_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/net.h"
#include "base/timeouts.h"
#include "io/stream.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "proto/writer.h"
#include "session/carry.h"
#include "session/server_auth.h"

#define SERVER_KEY_MAX 260	/* process id, and a secret of 256 bytes */

struct client;
struct dialling;
struct server;
struct sessions;
struct tls_context;

/* Calls upward. Each may close the server; the caller looks no further. */
struct server_ops {
	/* Login done: its state is still that of a login. */
	void (*ready)(struct server *s);
	/* The connection of a cancel canceler, or to a peer, is there. */
	void (*connected)(struct server *s);
	/* Bytes can be read and login is over. */
	void (*input)(struct server *s);
	void (*drained)(struct server *s);
	/* It is closed: leave client and pool. s->failure: see server_fail() */
	void (*closed)(struct server *s, const char *reason);
};

enum server_phase {
	SERVER_PHASE_CONNECT,	/* hosts are looked up and connected to */
	SERVER_PHASE_TLS,	/* asked for, or the handshake */
	SERVER_PHASE_AUTH,	/* StartupMessage sent */
	SERVER_PHASE_SYNC,	/* authenticated; parameters and key come */
	SERVER_PHASE_QUERY,	/* connect_query runs */
	SERVER_PHASE_POOLED,	/* login is over: ps.state tells the rest */
	SERVER_PHASE_LOOKUP,	/* runs auth_query for a client's login */
	SERVER_PHASE_CANCEL,	/* carries a CancelRequest */
};

/* What an unlinked or paused pair's server is doing for us. */
enum server_chore {
	CHORE_NONE,
	CHORE_RESET,		/* server_reset_query */
	CHORE_CHECK,		/* server_check_query */
	CHORE_PARAMS,		/* SETs for the client that waits */
	CHORE_ROLLBACK,		/* its client left inside a transaction */
};

/* See server_tls.h. */
struct server_tls {
	struct tls_context *context;	/* counted; until the handshake */
	bool required, direct;
};

struct server {
	struct stream stream;
	struct pool_server ps;
	struct log_who who;
	struct timeout timer;		/* ss->connect_list, or another */
	struct sessions *ss;		/* borrowed */
	enum server_phase phase;
	enum server_chore chore;
	struct track track;
	struct prepared_uses prepared;
	struct params *params;		/* counted; what the server reported */
	struct carry carry;
	uint32_t skip;			/* bytes of the open message to pass */
	bool skip_drop;			/* ... and they are dropped instead */
	bool sent;			/* canceler: the request is on its way */
	bool refused;			/* login: waiting for a retry is in vain */
	bool introduced;		/* the StartupMessage is sent */
	bool answered;			/* ... and something came back */
	bool plain;			/* it does not know newer protocols */
	bool superuser;			/* it says that we are one */
	bool told;			/* its client has a FATAL of it */
	struct server_tls tls;
	struct server_auth auth;
	struct err failure;		/* see server_fail(); no code: none */
	struct host host;		/* connected to; HOST_NONE: not yet */
	struct net_addr addr;		/* TCP or Unix peer */
	uint64_t id;
	uint8_t key[SERVER_KEY_MAX];	/* BackendKeyData as it came */
	uint16_t key_len;		/* 0 = the server gave none */
	struct dialling *dialling;	/* owned; phase CONNECT */
	struct writer welcome;		/* login: ParameterStatus not tracked */
	struct server *target;		/* of a canceler; NULL = gone, a peer */
	struct server *canceler;		/* of a target: brings it a cancel */
	bool cancel_wanted;		/* of a target: by the console */
};

/*
 * Open a connection for p in state SERVER_LOGIN. What goes wrong is told by
 * ops->closed, perhaps before this returns.
 */
void server_launch(struct sessions *ss, struct pool *p);
/* The same in state SERVER_DEDICATED_LOGIN, for c alone: replication. */
void server_launch_dedicated(struct client *c);
/* (server_connect.c) It is connected by fd, which is taken over. */
void server_connected(struct server *s, int fd);
/* Connect anew to the same address; may close s. */
void server_reconnect(struct server *s);
/*
 * Open one in state SERVER_ACTIVE_CANCEL to the address of target, that will
 * carry the cancel requests for it. NULL: it could not be started.
 */
struct server *server_launch_canceler(struct server *target);

/* What there is to be done about TLS is done: log in, or do the errand. */
void server_established(struct server *s);

/* An idle one that another process has logged in. NULL: fd is closed. */
struct server *server_adopt(struct sessions *ss, struct pool *p, int fd);
/*
 * Close now, free after the turn; Terminate is sent first when the connection
 * is sound. reason goes to the log and to ops->closed.
 */
void server_close(struct server *s, const char *reason);
/* The same; code and reason are for its client, or those who wait, too. */
void server_fail(struct server *s, const char *code, const char *reason);

/* Send one of our own queries; its replies are swallowed. 0 or -1 (closed). */
int server_send_query(struct server *s, const char *sql,
    enum server_chore chore);

static inline struct server *server_of(struct pool_server *ps)
{
	return (struct server *)((char *)ps - offsetof(struct server, ps));
}

static inline bool server_is_open(const struct server *s)
{
	return s->stream.fd >= 0;
}

#endif
