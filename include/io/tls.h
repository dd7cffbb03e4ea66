/* tls.h - TLS over a stream, either side: start, handshake, peer's names.
 * SPDX-License-Identifier: ISC */
#ifndef IO_TLS_H
#define IO_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct stream;
struct tls_context;

/* The first byte of a connection that begins with TLS at once. */
#define TLS_FIRST_BYTE 0x16
#define TLS_TEXT_MAX 96		/* of tls_describe(), NUL included */
#define TLS_NAME_MAX 256	/* of a name in a certificate, NUL included */
#define TLS_BINDING_MAX 64	/* bytes of tls_end_point() */

/*
 * Go on in TLS, as the side that waits for the ClientHello. start is what of
 * it was read already. 0, or -1: no memory.
 */
int tls_accept(struct stream *s, struct tls_context *ctx, const void *start,
    size_t len);
/*
 * Go on in TLS, as the side that speaks first. host: the host that the
 * certificate must name if ctx is that strict, and that SNI asks for (a name,
 * or an address). tls_handshake() reads and writes s. 0, or -1: no memory.
 */
int tls_connect(struct stream *s, struct tls_context *ctx, const char *host);

/*
 * Before and after s goes to the loop of another thread; ctx: what that accepts
 * with, or NULL. Nothing to do without TLS. tls_join() returns 0, or -1: no
 * memory, s can only be closed.
 */
void tls_leave(struct stream *s);
int tls_join(struct stream *s, struct tls_context *ctx);

/* The context that s was started with, borrowed; NULL without TLS. */
struct tls_context *tls_context_of(const struct stream *s);

enum tls_step {
	TLS_DONE,	/* bytes read and written now are of the session */
	TLS_MORE,	/* call again when readable */
	TLS_GONE,	/* the peer hung up in the middle */
	TLS_FAILED,	/* e says why */
};

/* Take the handshake a step further. */
enum tls_step tls_handshake(struct stream *s, struct err *e);

enum tls_state { TLS_NONE, TLS_HANDSHAKE, TLS_UP };

enum tls_state tls_state(const struct stream *s);

/* About what OpenSSL, or the library of gssenc.h, holds for it, in bytes. */
size_t tls_memory(const struct stream *s);

/* --- what a connection in state TLS_UP can tell; else nothing --- */

/*
 * "TLSv1.2/ECDHE-RSA-AES256-GCM-SHA384/ECDH=prime256v1", "GSSAPI" with that
 * encryption, "" without any.
 * Returns buf. (spec/authentication.md section 9.5)
 */
const char *tls_describe(const struct stream *s, char *buf, size_t size);

/* Did the peer show a certificate, and one that our authorities signed? */
bool tls_peer_is_verified(const struct stream *s);
/*
 * The only CommonName of the peer's certificate, verified or not. false: no
 * certificate, none or several names in it, one with a NUL, one too long.
 */
bool tls_peer_name(const struct stream *s, char *buf, size_t size);
/*
 * RFC 5929 section 4: what tls-server-end-point binds to, for SCRAM. Returns
 * the length, 0: this connection has none.
 */
size_t tls_end_point(const struct stream *s, uint8_t out[TLS_BINDING_MAX]);

/* Have both sides agreed on "postgresql" by ALPN? */
bool tls_has_alpn(const struct stream *s);

#endif
