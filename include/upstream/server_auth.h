/* server_auth.h - authenticates pgsluice to a server.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_AUTH_H
#define UPSTREAM_SERVER_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/options.h"
#include "proto/scram.h"

struct credentials;
struct gssapi;
struct offload;
struct server_auth;
struct server_scram;
struct writer;

enum server_auth_result {
	SERVER_AUTH_MORE,	/* send what was written, if anything */
	SERVER_AUTH_WAIT,	/* read nothing until wake is called */
	SERVER_AUTH_OK,		/* AuthenticationOk, after all that it
				 * requires */
	SERVER_AUTH_FAILED,	/* error is for the waiting clients; see
				 * detail */
};

/* All zero at first, except what the owner sets. */
struct server_auth {
	enum channel_binding mode;	/* the wanted mode */
	unsigned forbidden;		/* REQUIRE_* bits of forbidden methods;
					 * see require.h */
	struct scram_binding binding;	/* what the TLS connection offers */
	struct offload *offload;	/* borrowed; NULL: there are no threads */
	void (*wake)(struct server_auth *a);	/* called once from the loop
						 * after WAIT */
	struct server_scram *scram;	/* owned; NULL: no exchange is under
					 * way */
	struct gssapi *gss;	/* owned; NULL: GSSAPI is not wanted */
	uint8_t step;			/* the step of the exchange */
	bool cleartext;		/* the password was sent in clear text */
	struct err error;	/* "server login failed: wrong password type" */
	const char *hint;	/* the HINT, or NULL */
	char detail[256];	/* for the log (spec/logging.md section 9), or "" */
};

/*
 * Takes an Authentication message ('R'): body of len bytes, code first. user is
 * the pool's user. credentials is NULL if no secret is known.
 * (spec/authentication.md section 5)
 */
enum server_auth_result server_auth_step(struct server_auth *a,
    const char *user, struct credentials *credentials, const uint8_t *body,
    size_t len, struct writer *out);
/* To be called after SERVER_AUTH_WAIT and wake: continues the exchange. */
enum server_auth_result server_auth_resume(struct server_auth *a,
    struct writer *out);
void server_auth_end(struct server_auth *a);
/* For gssapi_order.done: wake() the server_auth that is the owner. */
void server_auth_on_stepped(void *owner);

#endif
