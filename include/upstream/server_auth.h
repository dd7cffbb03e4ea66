/* server_auth.h - how we prove to a server who we are.
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
	SERVER_AUTH_MORE,	/* send what was written (perhaps nothing) */
	SERVER_AUTH_WAIT,	/* read nothing; wake tells when to go on */
	SERVER_AUTH_OK,		/* AuthenticationOk, and it was due */
	SERVER_AUTH_FAILED,	/* error: for the waiting clients; see detail */
};

/* All zero to begin with, but for what the owner sets. */
struct server_auth {
	enum channel_binding mode;	/* what is wanted */
	unsigned forbidden;		/* REQUIRE_*: how not, of require.h */
	struct scram_binding binding;	/* what there is: over TLS */
	struct offload *offload;	/* borrowed; NULL: there are no threads */
	void (*wake)(struct server_auth *a);	/* once after WAIT, from the loop */
	struct server_scram *scram;	/* owned; NULL: no exchange is open */
	struct gssapi *gss;	/* owned; NULL: GSSAPI is not wanted */
	uint8_t step;			/* how far the exchange is */
	bool cleartext;		/* the password was sent in clear text */
	struct err error;	/* "server login failed: wrong password type" */
	const char *hint;	/* what to do about the error; NULL: unknown */
	char detail[256];	/* for the log (spec/logging.md section 9), or "" */
};

/*
 * An Authentication message ('R') came: body of len bytes, code first. user is
 * the pool's user, credentials may be NULL (no secret known).
 * (spec/authentication.md section 5)
 */
enum server_auth_result server_auth_step(struct server_auth *a,
    const char *user, struct credentials *credentials, const uint8_t *body,
    size_t len, struct writer *out);
/* After SERVER_AUTH_WAIT and wake: go on with the exchange. */
enum server_auth_result server_auth_resume(struct server_auth *a,
    struct writer *out);
void server_auth_end(struct server_auth *a);
/* For gssapi_order.done: wake() the server_auth that is the owner. */
void server_auth_on_stepped(void *owner);

#endif
