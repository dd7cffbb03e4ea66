/* server_attempt.h - the attempt to open a server, and its password if that
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

/* The result of an attempt at a host. */
enum host_outcome {
	OUTCOME_NONE, OUTCOME_DRAINED, OUTCOME_SLOW, OUTCOME_FAILED
};

/* The search for a host that answers; see server_connect.c. */
struct dialling {
	struct server *server;		/* borrowed */
	struct dial *dial;		/* owned; NULL: the search is over */
	struct host *hosts;		/* owned */
	unsigned count;
	bool listed;			/* hosts is the list of the pool */
	bool had_addr;			/* at least one of them had an
					 * address */
	enum host_outcome outcomes[HOSTS_MAX];
};

struct server_attempt {
	struct server *server;		/* borrowed: the owner */
	struct dialling *dialling;	/* owned; only in phase CONNECT */
	struct tls_context *context;	/* counted; until the handshake */
	struct server_auth auth;
	struct password_wait password;	/* used if the password changes */
	void (*then)(struct server *s);	/* called when it is known */
	bool fetching;			/* it is waited for; counted in the
					 * pool */
	usec_t fetched_at;		/* the wait was over; 0: there was none */
	char *refusal;			/* owned: the refusal of that password;
					 * NULL */
	char refusal_code[6];
	uint8_t refusals;
	struct host_role role;
	struct writer welcome;		/* ParameterStatus of parameters that
					 * are not tracked */
	size_t heard;			/* bytes of the login so far */
	unsigned parameters;		/* ParameterStatus messages so far */
	bool tls_required;		/* no connection without TLS */
	bool plain;			/* the host knows no newer protocol */
	bool answered;			/* the StartupMessage has an answer */
	bool refused;			/* a retry would be useless */
	bool passing;			/* refused only until the next password
					 * is known */
	bool no_sql;			/* physical replication */
};

/* Returns NULL if there is no memory. */
struct server_attempt *server_attempt_new(struct server *s);
/* Gives up everything under way, and wipes secrets. *a may be NULL. */
void server_attempt_free(struct server_attempt **a);

/* The search is over or given up. Nothing happens if there is none. */
void server_attempt_end_dialling(struct server_attempt *a);
/* Hosts of d that failed or were slow are avoided for a while. */
void server_attempt_blame(const struct dialling *d, unsigned winner);
/* s has failed: the same for its host, or for all that were tried. */
void server_attempt_failed(struct server *s);

/*
 * To be called before the StartupMessage: gets the password if it changes.
 * then() is called at once or later, unless s is closed.
 */
void server_password_get(struct server *s, void (*then)(struct server *s));
/*
 * The server has refused the login with this error. Returns true if the reason
 * may be the password. Then s tries again with another one, or fails with this
 * error if there is no other.
 */
bool server_password_refused(struct server *s, const struct report *r);
/* The secret to log in with, or NULL. */
struct credentials *server_password_secret(const struct server *s);
/* Ends the wait for a password. */
void server_password_end(struct server_attempt *a);
/*
 * Since when the server has kept its login waiting; what a password takes is not
 * the server's fault. INT64_MAX: it does not.
 */
usec_t server_attempt_waits_since(const struct server *s);

#endif
