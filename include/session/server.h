/* server.h - a server connection: connect, start-up, authentication, idle.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SERVER_H
#define SESSION_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/container.h"
#include "base/err.h"
#include "base/log.h"
#include "base/net.h"
#include "base/timeouts.h"
#include "io/stream.h"
#include "pool/catalog.h"
#include "pool/close_reason.h"
#include "pool/hosts.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "relay/relay_schema.h"
#include "session/carry.h"
#include "session/own_query.h"
#include "state/dialect.h"
#include "state/keep.h"
#include "state/trace.h"

struct track_ops;
struct writer;

/* The steps of a server connection. */

enum server_phase {
	SERVER_PHASE_NEW,	/* nothing was done yet */
	SERVER_PHASE_CONNECT,	/* looks up hosts and connects */
	SERVER_PHASE_TLS,	/* asks for TLS, or is in the handshake */
	SERVER_PHASE_AUTH,	/* the StartupMessage was sent */
	SERVER_PHASE_SYNC,	/* authenticated; waits for parameters and
				 * key */
	SERVER_PHASE_ROLE,	/* asks whether the host is a standby */
	SERVER_PHASE_QUERY,	/* connect_query runs */
	SERVER_PHASE_ORIGIN,	/* asks for the settings of the session */
	SERVER_PHASE_POOLED,	/* the login is over; see ps.state */
	SERVER_PHASE_LOOKUP,	/* runs auth_query for a client's login */
	SERVER_PHASE_CANCEL,	/* carries a CancelRequest */
	SERVER_PHASES
};

#define SERVER_KEY_MAX 260	/* process id, and a secret of 256 bytes */

struct server;
struct server_attempt;
struct sessions;

struct server {
	struct stream stream;
	struct pool_server ps;
	struct log_who who;
	struct timeout timer;		/* in ss->connect_list or another
					 * list */
	struct sessions *ss;		/* borrowed */
	struct cursor_node node;	/* of ss->all_servers */
	enum server_phase phase;	/* see server_set_phase() */
	struct server_attempt *attempt;	/* owned; NULL once it is pooled */
	enum own_query own_query;
	struct track track;
	struct prepared_uses prepared;
	uint64_t unnamed;		/* serial of the unnamed statement; see
					 * proto/own.h */
	struct params *params;		/* counted: its reported settings */
	struct params_origin origin;	/* ... and those that it had at first */
	struct trace trace;		/* see trace.h */
	enum schema_open schema_changed;	/* schema changes since it was
						 * lent; and open ones: */
	enum schema_open schema_open;	/* see relay_schema.h */
	bool in_rows;			/* the last message was a row */
	struct dialect dialect;
	struct writer deallocates;	/* SQL for OWN_QUERY_CLEAN */
	struct keep keep;
	struct carry carry, asked;	/* asked: see relay_repeat.h; it often
					 * lags behind */
	struct message_rest rest;	/* of the message that was read last */
	bool sent;			/* canceler: the request was sent */
	bool superuser;			/* ParameterStatus says so */
	uint8_t standby;		/* enum fact: the latest answer of the
					 * host */
	bool fatal_passed;		/* its FATAL was passed to the client */
	bool tls_direct;		/* TLS began without SSLRequest */
	const struct err *failure;	/* borrowed: of server_fail(), or
					 * NULL */
	struct host host;		/* the host of this connection, or of
					 * the attempt; HOST_NONE: one of its
					 * pool's */
	struct net_addr addr;		/* TCP or Unix address */
	uint64_t id;
	uint8_t key[SERVER_KEY_MAX];	/* body of BackendKeyData */
	uint16_t key_len;		/* 0: the server sent none */
	struct server *target;		/* of a canceler; NULL: gone, or a
					 * peer */
	struct server *canceler;	/* of a target: sends cancel requests to
					 * it */
	bool cancel_wanted;		/* of a target: requested on the
					 * console */
};

/* A server of p in this state, before its attempt. NULL: no memory. */
struct server *server_new(struct sessions *ss, struct pool *p, enum server_state state);
/* An idle server from another process. NULL: fd is closed. */
struct server *server_adopt(struct sessions *ss, struct pool *p, int fd);

/* The one setter of the phase. */
void server_set_phase(struct server *s, enum server_phase phase);
/* Sets the phase and begins it; may close s. */
void server_begin(struct server *s, enum server_phase phase);

/* Connects s by fd, and takes fd over. Returns 0 or -1 (closed). */
int server_open(struct server *s, int fd);
/*
 * Closes s now, and frees it after the turn. If possible, Terminate is sent
 * first. The reason goes to the log and to ops->closed.
 */
void server_close(struct server *s, enum close_reason reason);
/* The same; its client, or the waiting clients, also get code and text. */
void server_fail(struct server *s, enum close_reason reason);
/* ... with another code than the reason's. */
void server_fail_as(struct server *s, enum close_reason reason,
    const char *code);
/* The same, if clients get another text than the log. */
void server_close_for(struct server *s, const struct err *failure,
    struct close_cause why);
/* With a text made at run time. */
void server_close_cause(struct server *s, struct close_cause why);
void server_fail_cause(struct server *s, struct close_cause why);
/* Frees a server that is in no list and has no pool. */
void server_lose(struct server *s);

static inline struct server *server_of(struct pool_server *ps)
{
	return container_of(ps, struct server, ps);
}

/* Does s carry cancel requests only? */
static inline bool server_is_canceler(const struct server *s)
{
	return s->ps.state == SERVER_ACTIVE_CANCEL ||
	    s->ps.pool->peer_id != 0;
}

/* Was its StartupMessage sent? Then s can serve no other client. */
static inline bool server_is_introduced(const struct server *s)
{
	return s->phase >= SERVER_PHASE_AUTH;
}

static inline bool server_is_open(const struct server *s)
{
	return s->stream.fd >= 0;
}

/* A row for each phase. Each function may close the server. */
struct server_phase_ops {
	const char *name;	/* for the log */
	/* server_begin() begins this phase. NULL: nothing to begin. */
	void (*begin)(struct server *s);
	/* Bytes can be read. NULL: there is no connection yet. */
	void (*input)(struct server *s);
	/* The overflow queue is empty again. NULL: not used. */
	void (*drained)(struct server *s);
	/* Would the server understand Terminate now? NULL: no. */
	bool (*can_terminate)(const struct server *s);
	bool timed;		/* by the time-out since the launch */
};

/*
 * Calls upward. Each may close the server, so the caller does not touch it
 * afterwards.
 */
struct server_ops {
	const struct server_phase_ops *phases;	/* by enum server_phase */
	const struct track_ops *track;	/* arg: the server */
	/* The login is complete. ps.state is still that of a login. */
	void (*ready)(struct server *s);
	/*
	 * Writes what a dedicated client adds to the StartupMessage. Returns
	 * true if this connection understands SQL.
	 */
	bool (*introduce)(const struct server *s, struct writer *w);
	/*
	 * s is closed: take it out of client and pool. See server_fail() for
	 * s->failure.
	 */
	void (*closed)(struct server *s, struct close_cause why);
};

/* For a secret that the server does not accept; in HINT and log. */
#define SERVER_HINT_SECRET \
	"PostgreSQL does not accept the secret of auth_file: copy its own by " \
	"\"pgsluicectl userlist import\", or write user= and password= into " \
	"the line of [databases]."
/* For SCRAM secrets, which need a client that logs in by SCRAM. */
#define SERVER_HINT_KEYS \
	"A SCRAM secret works for the server only if the client has logged " \
	"in by SCRAM: set auth_type = scram-sha-256, or write user= and " \
	"password= into the line of [databases]."
#define SERVER_HINT_TICKET \
	"Look at krb_client_keyfile, krb_client_principal and krbsrvname; the " \
	"log has what the Kerberos library says."
#define SERVER_HINT_METHOD \
	"In pg_hba.conf of the server, use scram-sha-256 for connections of " \
	"pgsluice."

/*
 * The hint for a server that refuses a login with this SQLSTATE and text. NULL:
 * none.
 */
const char *server_hint(const char *sqlstate, const char *message);

/*
 * Must s be asked for its role, because it has not reported it? Then w gets the
 * question.
 */
bool server_role_question(const struct server *s, struct writer *w);
/* Takes the row of the answer. */
void server_role_answer(struct server *s, const uint8_t *body, size_t len);
/* The answer is complete. Returns 0, or -1: s does not suit and was closed. */
int server_role_check(struct server *s);

#endif
