/* server_attempt.h - a server until it is pooled, and its password where that
 * changes.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_ATTEMPT_H
#define UPSTREAM_SERVER_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "pool/hosts.h"
#include "proto/msg.h"
#include "upstream/passwords.h"
#include "upstream/server_auth.h"

struct dial;
struct report;
struct server;
struct tls_context;

/* What became of a host. */
enum host_outcome {
	OUTCOME_NONE, OUTCOME_DRAINED, OUTCOME_SLOW, OUTCOME_FAILED
};

/* The search for a host that answers: server_connect.c. */
struct dialling {
	struct server *server;		/* borrowed */
	struct dial *dial;		/* owned; NULL: over */
	struct host *hosts;		/* owned */
	unsigned count;
	bool listed;			/* hosts is the list of the pool */
	bool had_addr;			/* one of them, at least */
	enum host_outcome outcomes[HOSTS_MAX];
};

struct server_attempt {
	struct server *server;		/* borrowed; the owner */
	struct dialling *dialling;	/* owned; phase CONNECT */
	struct tls_context *context;	/* counted; until the handshake */
	struct server_auth auth;
	struct password_wait password;	/* asked for where it changes */
	void (*then)(struct server *s);	/* when it is there */
	bool fetching;			/* it is waited for: in the pool's count */
	usec_t fetched_at;		/* the wait was over; 0: there was none */
	char *refusal;			/* owned: of that password; NULL */
	char refusal_code[6];
	uint8_t refusals;
	struct host_role role;
	struct writer welcome;		/* ParameterStatus of the not tracked */
	size_t heard;			/* bytes of its login */
	unsigned parameters;		/* ParameterStatus among them */
	bool tls_required;		/* or no connection at all */
	bool plain;			/* the host knows no newer protocol */
	bool answered;			/* something came for the StartupMessage */
	bool refused;			/* waiting for a retry is in vain */
	bool passing;			/* refused until the next password is there */
	bool no_sql;			/* physical replication */
};

/* NULL: no memory. */
struct server_attempt *server_attempt_new(struct server *s);
/* Give up what is under way, wipe what is secret. Nothing if there is none. */
void server_attempt_free(struct server_attempt **a);

/* The search is over, or given up. Nothing if there is none. */
void server_attempt_end_dialling(struct server_attempt *a);
/* Hosts of d that failed, or were slow, are not used for a while. */
void server_attempt_blame(const struct dialling *d, unsigned winner);
/* s fails: the same of its host, or of all that were tried so far. */
void server_attempt_failed(struct server *s);

/* A server's login, where its password changes by itself. */

/*
 * Before the StartupMessage: get the password, if it is one that changes. then()
 * is called, at once or later, unless s is closed.
 */
void server_password_get(struct server *s, void (*then)(struct server *s));
/*
 * The server has refused the login with this error. Returns true when that may
 * be for the password: then s tries again with another one, or fails with this
 * error if there is no other.
 */
bool server_password_refused(struct server *s, const struct report *r);
/* The secret to log in with; NULL: none. */
struct credentials *server_password_secret(const struct server *s);
/* What waits is over. */
void server_password_end(struct server_attempt *a);
/*
 * Since when the server has kept its login waiting; what a password takes is not
 * the server's fault. INT64_MAX: it does not.
 */
usec_t server_attempt_waits_since(const struct server *s);

#endif
