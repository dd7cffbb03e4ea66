/* gssapi.h - one side of a GSSAPI exchange: tokens in and out, on threads.
 *
 * The library reads files and asks the KDC, so each step runs on a thread: of the
 * lane OFFLOAD_GSS if we accept, of OFFLOAD_GSS_SERVERS if we begin. Builds
 * --with-gssapi have all functions; in others those for an exchange do nothing.
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
	/*
	 * NULL: we accept. Else we begin, towards this service, "name@host", and
	 * the peer has to prove itself, too.
	 */
	const char *target;
	const char *principal;	/* as which; NULL or "": the first of the keytab */
	/* Of the service, or of the principal; NULL or "": the default one. */
	const char *keytab;
	void (*done)(void *owner);	/* from the loop: a step is over */
	void *owner;
};

enum gssapi_state {
	GSSAPI_MORE,		/* the peer has to send a token */
	GSSAPI_DONE,		/* the context stands; there may be a last token */
	GSSAPI_FAILED,		/* gssapi_why() */
	GSSAPI_NO_MEMORY,
};

#ifdef HAVE_GSSAPI
#define GSSAPI_BUILT true

/* NULL: no memory. */
struct gssapi *gssapi_new(const struct gssapi_order *order);
/* Sets *g to NULL. A step that runs is left to its thread, and nobody is told. */
void gssapi_free(struct gssapi **g);

/*
 * Give it the next token of the peer, which is copied; none for the first step of
 * one that begins. TAKEN: done follows, and until then only gssapi_free() may be
 * called. NO_THREAD also means no memory.
 */
enum offload_answer gssapi_step(struct gssapi *g, struct offload *o,
    const void *token, size_t len);

/* --- after a step --- */

enum gssapi_state gssapi_state(const struct gssapi *g);
/* What the peer must get; borrowed until the next step. NULL: nothing. */
const void *gssapi_token(const struct gssapi *g, size_t *len);
/* DONE, of one that accepts: the peer, as "name@REALM". */
const char *gssapi_peer(const struct gssapi *g);
/* FAILED: what the library says, for the log. */
const char *gssapi_why(const struct gssapi *g);
#else
#define GSSAPI_BUILT false

/* Nobody has one. */
static inline struct gssapi *gssapi_new(const struct gssapi_order *order)
{
	(void)order;
	return NULL;
}

static inline void gssapi_free(struct gssapi **g)
{
	*g = NULL;
}

static inline enum offload_answer gssapi_step(struct gssapi *g,
    struct offload *o, const void *token, size_t len)
{
	(void)g;
	(void)o;
	(void)token;
	(void)len;
	return OFFLOAD_NO_THREAD;
}

static inline enum gssapi_state gssapi_state(const struct gssapi *g)
{
	(void)g;
	return GSSAPI_FAILED;
}

static inline const void *gssapi_token(const struct gssapi *g, size_t *len)
{
	(void)g;
	*len = 0;
	return NULL;
}

static inline const char *gssapi_why(const struct gssapi *g)
{
	(void)g;
	return "";
}
#endif

/* --- DONE: data is encrypted, at once and on the loop --- */

struct gssapi_bytes {
	void *at;		/* owned; of the library. NULL: none */
	size_t len;
};
void gssapi_release(struct gssapi_bytes *b);

/*
 * From data to token, and back. 0, or -1: no memory, a token that is wrong, old or
 * not encrypted; nothing is in out then.
 */
int gssapi_seal(struct gssapi *g, const void *p, size_t len,
    struct gssapi_bytes *out);
int gssapi_open(struct gssapi *g, const void *p, size_t len,
    struct gssapi_bytes *out);
/* How much data fits into a token of max bytes; 0: this cannot be done. */
size_t gssapi_data_max(const struct gssapi *g, size_t max);

#endif
