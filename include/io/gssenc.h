/* gssenc.h - GSSAPI encryption of a stream: what GSSENCRequest begins.
 *
 * The wire has packets: a length of four bytes, and a token. The first ones are
 * those of an exchange, each of the others is wrapped data.
 * (PostgreSQL docs, Message Flow, GSSAPI Session Encryption)
 * SPDX-License-Identifier: ISC */
#ifndef IO_GSSENC_H
#define IO_GSSENC_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct gssenc;
struct stream;

enum gssenc_state { GSSENC_NONE, GSSENC_HANDSHAKE, GSSENC_UP };

enum gssenc_step {
	GSSENC_DONE,	/* bytes read and written now are of the session */
	GSSENC_MORE,	/* call again when readable */
	GSSENC_GONE,	/* the peer hung up in the middle */
	GSSENC_FAILED,	/* e says why */
};

#ifdef HAVE_GSSAPI

/*
 * Go on encrypted, as the side that accepts; keytab: of its key, NULL or "" is the
 * default one. 0, or -1: no memory.
 */
int gssenc_accept(struct stream *s, const char *keytab);
/* Take the handshake a step further, of which threads do the work. */
enum gssenc_step gssenc_handshake(struct stream *s, struct err *e);
enum gssenc_state gssenc_state(const struct stream *s);
/* UP: the principal of the peer, borrowed; else NULL. */
const char *gssenc_peer(const struct stream *s);
/* About what is held for it, in bytes. */
size_t gssenc_memory(const struct stream *s);
#else
static inline int gssenc_accept(struct stream *s, const char *keytab)
{
	(void)s;
	(void)keytab;
	return -1;
}

static inline enum gssenc_step gssenc_handshake(struct stream *s,
    struct err *e)
{
	(void)s;
	(void)e;
	return GSSENC_GONE;
}

static inline enum gssenc_state gssenc_state(const struct stream *s)
{
	(void)s;
	return GSSENC_NONE;
}

static inline const char *gssenc_peer(const struct stream *s)
{
	(void)s;
	return NULL;
}

static inline size_t gssenc_memory(const struct stream *s)
{
	(void)s;
	return 0;
}
#endif

#endif
