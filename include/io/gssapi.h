/* gssapi.h - one side of a GSSAPI exchange: tokens in and out, on threads.
 *
 * The library reads files and asks the KDC, so each step runs on a thread of the
 * lane OFFLOAD_GSS. Only builds --with-gssapi have the functions.
 * SPDX-License-Identifier: ISC */
#ifndef IO_GSSAPI_H
#define IO_GSSAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/offload.h"

struct gssapi;			/* a security context, and its exchange */

/* PostgreSQL source: PG_MAX_AUTH_TOKEN_LENGTH. */
#define GSSAPI_TOKEN_MAX 65535
#define GSSAPI_PEER_MAX 1024	/* of a name that may be a user, NUL included */

/* What one exchange needs; the texts are copied. */
struct gssapi_order {
	const char *keytab;	/* of the service; NULL or "": the default one */
	void (*done)(void *owner);	/* from the loop: a step is over */
	void *owner;
};

enum gssapi_state {
	GSSAPI_MORE,		/* the peer has to send a token */
	GSSAPI_DONE,		/* the context stands; there may be a last token */
	GSSAPI_FAILED,		/* gssapi_why() */
	GSSAPI_NO_MEMORY,
};

/* One that accepts. NULL: no memory. */
struct gssapi *gssapi_new(const struct gssapi_order *order);
/* Sets *g to NULL. A step that runs is left to its thread, and nobody is told. */
void gssapi_free(struct gssapi **g);

/*
 * Give it the next token of the peer, which is copied. TAKEN: done follows, and
 * until then only gssapi_free() may be called. NO_THREAD also means no memory.
 */
enum offload_answer gssapi_step(struct gssapi *g, struct offload *o,
    const void *token, size_t len);

/* --- after a step --- */

enum gssapi_state gssapi_state(const struct gssapi *g);
/* What the peer must get; borrowed until the next step. NULL: nothing. */
const void *gssapi_token(const struct gssapi *g, size_t *len);
/* DONE: the peer, as "name@REALM". */
const char *gssapi_peer(const struct gssapi *g);
/* FAILED: what the library says, for the log. */
const char *gssapi_why(const struct gssapi *g);

#endif
