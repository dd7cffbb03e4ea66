/* tls_parts.h - what the files of TLS share; for tls*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef IO_TLS_PARTS_H
#define IO_TLS_PARTS_H

#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/tls.h"
#include "io/tls_context.h"

struct err;
struct tls_away;

/*
 * One send of at most this many bytes is one record. PostgreSQL's records are
 * no longer, and an asynchronous client with libpq stops at a record that does
 * not fit into libpq's 8 kB of free room: the client waits for the socket, but
 * OpenSSL has the bytes.
 */
#define TLS_RECORD 8192
#define TLS_IN_BYTES (48 * 1024)
#define TLS_OUT_BYTES (72 * 1024)

/* No field outlives the call that uses the wire. */
struct tls_wire {
	size_t out_len;
	uint8_t in[TLS_IN_BYTES];
	uint8_t out[TLS_OUT_BYTES];
	uint8_t record[TLS_RECORD];	/* small pieces, put together */
};

/* What contexts of several threads have in common; it does not change. */
struct tls_core {
	atomic_uint refs;
	SSL_CTX *ssl;			/* owned */
	enum tls_verify verify;
	bool accepts, alpn;
	bool dear;			/* the key: a thread signs with it */
	uint8_t binding_len;		/* of our certificate; 0 = none */
	uint8_t binding[TLS_BINDING_MAX];
};

struct tls_context {
	unsigned refs;
	struct tls_core *core;		/* counted */
	BIO *bio;	/* counted; of the stream whose turn it is, as the wire */
	struct tls_wire *wire;		/* owned */
	unsigned unused;		/* handshakes since a ticket was used */
};

struct tls {
	SSL *ssl;			/* owned */
	struct tls_context *ctx;	/* counted; NULL: see core */
	struct tls_core *core;		/* counted; between two threads, or NULL */
	char *host;			/* owned; connecting, until TLS_DONE */
	struct tls_away *away;		/* owned; NULL: the loop shakes hands */
	uint8_t *stash;			/* owned; the wire's bytes for later */
	const uint8_t *in;		/* in stash or wire: not taken yet */
	size_t in_len;
	uint32_t queued;		/* by the stream, before this call */
	uint32_t unasked;		/* queued by reading, and not gone */
	uint8_t reads;			/* of the socket, in this call */
	bool drained;			/* ... after which it had no input */
	bool served;			/* this call has returned bytes */
	bool eof;			/* the wire ends here */
	bool up;			/* the handshake is done */
	bool failed;			/* say nothing more */
	bool waits;			/* the handshake waits for its turn */
};

/* The wire as OpenSSL sees it; in tls.c. NULL: no memory. */
BIO *tls_bio_new(void);
/* A context of core for this thread; takes the reference. NULL: no memory. */
struct tls_context *tls_context_of_core(struct tls_core *core);
struct tls_core *tls_core_ref(struct tls_core *core);
void tls_core_unref(struct tls_core **core);
/* Ends a connection whose peer wants to renegotiate. */
void tls_on_info(const SSL *ssl, int where, int value);

/* No stream has it any more. */
void tls_free(struct tls *t);
/* A step of the handshake: touches t, its SSL and nothing of the loop's. */
enum tls_step tls_shake(struct tls *t, struct err *e);
/* On the loop, when it has been taken; returns what became of it. */
enum tls_step tls_step_taken(struct stream *s, enum tls_step step,
    struct err *e);

/* Pass on to a memory what has come; false: nothing has, nor the end. */
bool tls_wire_feed(struct stream *s, BIO *to);
int tls_wire_send(struct stream *s, const void *p, size_t n);	/* 0 or -1 */

/* Is a thread to shake hands? Then by this step of tls_handshake(). */
bool tls_away_is_due(const struct stream *s);
enum tls_step tls_away_step(struct stream *s, struct err *e);
/* s is closed. Returns true when its struct tls is the thread's by now. */
bool tls_away_leave(struct stream *s);

/* tls_peer_name() of this certificate. */
bool tls_cert_name(const X509 *cert, char *buf, size_t size);
/* Does the certificate name host? An address is compared as one. */
bool tls_cert_is_for(X509 *cert, const char *host);
/* The certificate's hash for tls-server-end-point; 0: none is defined. */
size_t tls_cert_binding(const X509 *cert, uint8_t out[TLS_BINDING_MAX]);

#define TLS_V1_0 1u
#define TLS_V1_1 2u
#define TLS_V1_2 4u
#define TLS_V1_3 8u

/* The words of *_tls_protocols as a set of TLS_V*. 0, or -1: a wrong word. */
int tls_protocols_parse(const char *text, unsigned *out);

/* e = prefix, what OpenSSL says first, and forget the rest. Returns -1. */
int tls_err(struct err *e, const char *prefix);

#endif
