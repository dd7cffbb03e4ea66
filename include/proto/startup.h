/* startup.h - the first packet of a connection, and the keys that cancel.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_STARTUP_H
#define PROTO_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct writer;

enum startup_kind {
	STARTUP_SHORT,		/* need more bytes */
	STARTUP_BAD,		/* no valid first message */
	STARTUP_TYPED,		/* an ordinary message; not for here */
	STARTUP_SSL,		/* SSLRequest */
	STARTUP_GSS,		/* GSSENCRequest */
	STARTUP_CANCEL,		/* CancelRequest; body = the key */
	STARTUP_V2,		/* protocol 2.0 */
	STARTUP_MESSAGE,	/* StartupMessage 3.x; body = parameters */
};

struct startup {
	enum startup_kind kind;
	uint32_t code;		/* protocol version or request code, if known */
	size_t size;		/* of the whole message; 0 not known yet */
	const uint8_t *body;	/* after the code; borrowed */
	size_t body_len;
};

#define STARTUP_LONG 10000	/* ... of one that PostgreSQL takes */
#define STARTUP_MAX 65535	/* bytes of an untyped message */

/* Look at the first bytes; nothing is consumed. (spec/pooling.md section 19) */
enum startup_kind startup_peek(const void *p, size_t n, struct startup *out);

/*
 * Walk the parameters of a StartupMessage in order: fn gets each pair and
 * returns 0 to go on, or -1 with e set to stop.
 * Returns 0, or -1 with e set: by fn, or "invalid startup packet layout: ...".
 */
int startup_each(const struct startup *s,
    int (*fn)(const char *name, const char *value, void *arg, struct err *e),
    void *arg, struct err *e);

/*
 * Walk an "options" value: -c name=value, -cname=value, --name=value with
 * backslash escapes (spec/pooling.md section 20). As startup_each.
 */
int startup_options(const char *options,
    int (*fn)(const char *name, const char *value, void *arg, struct err *e),
    void *arg, struct err *e);

#define PROTOCOL_3_0 196608
#define PROTOCOL_3_2 196610	/* keys of up to 256 bytes */

/*
 * What we speak with a client that asks for version: 3.2 or, if it is older
 * than that, 3.0.
 */
static inline uint32_t startup_protocol(uint32_t version)
{
	return version >= PROTOCOL_3_2 ? PROTOCOL_3_2 : PROTOCOL_3_0;
}

enum replication { REPLICATION_NONE, REPLICATION_LOGICAL,
	REPLICATION_PHYSICAL };
enum replication startup_replication(const char *value);

/* A parameter of a StartupMessage that we send; NULL: none. */
void startup_write_param(struct writer *w, const char *name,
    const char *value);
/* NegotiateProtocolVersion: what we speak, and the names we don't know. */
void startup_write_negotiate(struct writer *w, uint32_t version,
    const char *const *unknown, unsigned count);

/* The cancel keys we give to clients, and what peers read there. */

#define CANCEL_KEY_BYTES 8
#define CANCEL_KEY_MAX 32	/* from protocol 3.2 on: more to guess */

/*
 * Make a key of random bytes. peer_id is our own, 0 = no peering: then all but
 * one bit stays random. (spec/pooling.md section 18, "Client key")
 */
void cancel_key_stamp(uint8_t *key, int peer_id);

/* The peer whose key this is, if every peer has a peer_id. */
int cancel_key_peer(const uint8_t *key);

/* The worker that has the client of the key. */
void cancel_key_set_worker(uint8_t *key, unsigned worker);
unsigned cancel_key_worker(const uint8_t *key);

/* One hop more; false: the key's budget is used up, nothing is changed. */
bool cancel_key_spend(uint8_t *key);

/* With the full budget, as its owner knows it. */
void cancel_key_restore(uint8_t *key);

#endif
