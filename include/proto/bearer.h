/* bearer.h - the SASL mechanism OAUTHBEARER, as PostgreSQL 18 speaks it.
 * (RFC 7628; PostgreSQL docs, OAUTHBEARER Authentication)
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_BEARER_H
#define PROTO_BEARER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct writer;

#define BEARER_MECHANISM "OAUTHBEARER"

/* What a client answers to the status of its failure. */
#define BEARER_DUMMY "\x01"

enum bearer_kind {
	BEARER_TOKEN,		/* token and len are set */
	BEARER_ASKS,		/* no token: the client asks where to get one */
	BEARER_OTHER,		/* auth is no bearer token; why is set */
	BEARER_MALFORMED,	/* the protocol is broken; why is set */
};

struct bearer {
	const char *token;	/* borrowed from the message; no NUL follows */
	size_t len;
	struct err why;		/* quotes nothing of the message */
	const char *detail;	/* BEARER_MALFORMED: for the log, or "" */
};

/* Read the client's response of len bytes. */
enum bearer_kind bearer_read(struct bearer *b, const char *at, size_t len);

/* Is it a b64token? (RFC 6750 section 2.1) */
bool bearer_is_token(const char *at, size_t len);

/*
 * The status of a failure: where a token can be had, and for what. issuer and
 * scope have neither quotes, backslashes nor control characters.
 */
void bearer_write_status(struct writer *w, const char *issuer,
    const char *scope);

#endif
