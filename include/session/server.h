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

/* What a server connection is at. */

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

#define SERVER_KEY_MAX 260	/* process id, and a secret of 256 bytes */

struct server;
struct server_attempt;
struct sessions;

struct server {
	struct stream stream;
	struct pool_server ps;
	struct log_who who;
	struct timeout timer;		/* ss->connect_list, or another */
	struct sessions *ss;		/* borrowed */
	struct cursor_node node;	/* of ss->all_servers */
	enum server_phase phase;	/* see server_set_phase() */
	struct server_attempt *attempt;	/* owned; NULL: it is pooled */
	enum own_query own_query;
	struct track track;
	struct prepared_uses prepared;
	uint64_t unnamed;		/* statement; see proto/own.h */
	struct params *params;		/* counted; what the server has */
	struct params_origin origin;	/* what it had at first */
	struct trace trace;		/* of state, in this transaction */
	enum schema_open schema_changed;	/* since it was lent, and */
	enum schema_open schema_open;	/* see relay_schema.h */
	bool in_rows;			/* the last that came was of rows */
	struct dialect dialect;
	struct writer deallocates;	/* SQL for OWN_QUERY_CLEAN */
	struct keep keep;
	struct carry carry, asked;	/* see relay_repeat.h; often stale */
	struct message_rest rest;	/* of what was read last */
	bool sent;			/* canceler: the request is on its way */
	bool superuser;			/* ParameterStatus says so */
	uint8_t standby;		/* enum fact, as the host said last */
	bool fatal_passed;		/* the client got its FATAL already */
	bool tls_direct;		/* TLS began without an SSLRequest */
	const struct err *failure;	/* borrowed; server_fail(); or NULL */
	struct host host;		/* connected to, or to be connected to;
					 * HOST_NONE: one of its pool's */
	struct net_addr addr;		/* TCP or Unix peer */
	uint64_t id;
	uint8_t key[SERVER_KEY_MAX];	/* the body of BackendKeyData */
	uint16_t key_len;		/* 0 = the server gave none */
	struct server *target;		/* of a canceler; NULL = gone, a peer */
	struct server *canceler;	/* of a target: brings cancels to it */
	bool cancel_wanted;		/* of a target: by the console */
};

/* One of p, in this state, with an attempt to come. NULL: no memory. */
struct server *server_new(struct sessions *ss, struct pool *p, enum server_state state);
/* An idle one that another process has logged in. NULL: fd is closed. */
struct server *server_adopt(struct sessions *ss, struct pool *p, int fd);

/* The setter: all that moves a server to another phase goes through it. */
void server_set_phase(struct server *s, enum server_phase phase);
/* The same, and begin there; may close s. */
void server_begin(struct server *s, enum server_phase phase);

/* s is connected by fd, which is taken over. 0 or -1 (closed). */
int server_open(struct server *s, int fd);
/* Close now, free after the turn; a sound connection is sent Terminate first.
 * reason goes to the log and to ops->closed. */
void server_close(struct server *s, enum close_reason reason);
/* The same; its client, or the clients that wait, get code and text, too. */
void server_fail(struct server *s, enum close_reason reason);
/* ... with another code than that of the reason. */
void server_fail_as(struct server *s, enum close_reason reason,
    const char *code);
/* The same, where clients get something else than the log. */
void server_close_for(struct server *s, const struct err *failure,
    struct close_cause why);
/* With a text that is made at run time. */
void server_close_cause(struct server *s, struct close_cause why);
void server_fail_cause(struct server *s, struct close_cause why);
/* One that is in no list, and has no pool. */
void server_lose(struct server *s);

static inline struct server *server_of(struct pool_server *ps)
{
	return container_of(ps, struct server, ps);
}

/* Is s there, or to be there, for cancel requests alone? */
static inline bool server_is_canceler(const struct server *s)
{
	return s->ps.state == SERVER_ACTIVE_CANCEL ||
	    s->ps.pool->peer_id != 0;
}

/* Was its StartupMessage sent? Then no other client can have s. */
static inline bool server_is_introduced(const struct server *s)
{
	return s->phase >= SERVER_PHASE_AUTH;
}

static inline bool server_is_open(const struct server *s)
{
	return s->stream.fd >= 0;
}

/* What acts for a server in each phase (app/wiring.c). */

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

/* What to do about a server that does not let us in. */

/* About the secret that the server does not take; for HINT and the log. */
#define SERVER_HINT_SECRET \
	"PostgreSQL does not accept the secret of auth_file: copy its own by " \
	"\"pgsluicectl userlist import\", or write user= and password= into " \
	"the line of [databases]."
/* ... which is the server's, and does for clients that prove themselves. */
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
 * What to do when a server refuses a login with this SQLSTATE, and these words;
 * NULL: there is nothing to add to them.
 */
const char *server_hint(const char *sqlstate, const char *message);

/* Target_session_attrs: does a server fit that logs in? */

/* Does s have to be asked, as it has not reported enough? Then w has it. */
bool server_role_question(const struct server *s, struct writer *w);
/* The row that answers. */
void server_role_answer(struct server *s, const uint8_t *body, size_t len);
/* All is said. 0, or -1: s does not fit, and was closed. */
int server_role_check(struct server *s);

#endif
