/* server_attempt.h - what a server has until it is pooled, and no longer.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_ATTEMPT_H
#define UPSTREAM_SERVER_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "pool/host_role.h"
#include "pool/hosts.h"
#include "proto/writer.h"
#include "upstream/passwords.h"
#include "upstream/server_auth.h"

struct dial;
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

#endif
