/* snapshot_parts.h - the format of snapshot.h; for snapshot*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_SNAPSHOT_PARTS_H
#define TRANSFER_SNAPSHOT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net.h"
#include "base/time.h"
#include "proto/msg.h"
#include "proto/prepared_shape.h"

struct err;

#define SNAPSHOT_VERSION 11

enum snapshot_flag {
	SNAPSHOT_WAITING = 1 << 0,	/* client: asked for a server */
	SNAPSHOT_PRIMARY = 1 << 1,	/* server: the field standby is NO, */
	SNAPSHOT_STANDBY = 1 << 2,	/* or YES */
	SNAPSHOT_SCHEMA = 1 << 3,	/* server: the field schema_changed, or
					 * some of dialect */
	SNAPSHOT_BEHIND = 1 << 4,	/* client: see client_is_behind() */
	SNAPSHOT_TRANSLATES = 1 << 5,	/* client: relay_translates() */
	SNAPSHOT_CLOSE = 1 << 6,	/* server: close_needed */
	SNAPSHOT_READY = 1 << 7,	/* server: fields of struct track ... */
	SNAPSHOT_COPY_IN = 1 << 8,
	SNAPSHOT_ABORTED = 1 << 9,
	SNAPSHOT_UNCERTAIN = 1 << 10,
	SNAPSHOT_OLD = 1 << 11,	/* server: knows no newer protocol */
	SNAPSHOT_DROP = 1 << 12,	/* both: rest.dropped */
	SNAPSHOT_NOTIFIED = 1 << 13,	/* client: the field */
	SNAPSHOT_SUPERUSER = 1 << 14,	/* server: the field */
	SNAPSHOT_WELCOME = 1 << 15,	/* client: waits for its welcome */
	SNAPSHOT_SESSION = 1 << 16,	/* both: linked in this pool_mode, */
	SNAPSHOT_STATEMENT = 1 << 17,	/* or in this one */
	SNAPSHOT_STAINED = 1 << 18,	/* server: the field, or a trace */
	SNAPSHOT_WATCHED = 1 << 19,	/* server: somebody has looked */
	SNAPSHOT_LINKED = 1 << 20,	/* server: to a client */
	SNAPSHOT_CANCEL = 1 << 21,	/* server: cancel_wanted */
	SNAPSHOT_HEARS_SERVER = 1 << 23,	/* client: of struct listening, */
	SNAPSHOT_HEARS_NOBODY = 1 << 24,	/* or this; else the listener */
	SNAPSHOT_LISTENING = 1 << 25,	/* server: the state */
	SNAPSHOT_ALWAYS = 1 << 26,	/* client: of struct listening, too */
	SNAPSHOT_BROUGHT = 1 << 27,	/* server: keep.brought */
	SNAPSHOT_BROUGHT_INSIDE = 1 << 28,	/* the same */
	SNAPSHOT_EXPECTS = 1 << 29,	/* client: of struct listening, too */
};

/*
 * What is true or not in struct trace and in struct keep: a bit for each, from
 * the lowest one on.
 */
#define SNAPSHOT_TRACE(X) \
	X(failed) X(marked) X(unnamed) X(binds) X(unlisted) X(discarded) \
	X(waits) X(drawn) X(draws) X(calls) X(listens) X(notifies) X(lasting) \
	X(unread)
#define SNAPSHOT_KEEP(X) \
	X(undone) X(discarded) X(surplus) X(leaves) X(unlisted) X(settled) \
	X(pins_first) X(strange) X(worn) X(tabled) X(drawn)

/* Of struct baggage; at NULL: none. */
struct snapshot_baggage {
	const uint8_t *at;
	uint32_t len;
};

/* All point into the bytes that were parsed; lists are walked by next(). */
struct snapshot_client {
	unsigned flags;
	usec_t born, request_time, query_start, xact_start, waited, wait_since;
	uint32_t rest;		/* rest.bytes */
	struct net_addr addr;	/* a balancer may have told it */
	const uint8_t *key, *carry;
	const uint8_t *queued;	/* what its socket has not taken */
	uint32_t key_len, carry_len, queued_len;
	struct reader params, statements;	/* params: see params.h */
	const uint8_t *relay;	/* see relay_state_load() */
	uint32_t relay_len;
	const char *query_text;	/* of struct client; or NULL */
	uint64_t last;		/* number of a statement */
	struct snapshot_baggage baggage, brought;
	struct reader channels;	/* names that it listens to */
	const uint8_t *heard, *early;	/* notifications not sent yet */
	uint32_t heard_len, early_len;
};

struct snapshot_server {
	unsigned flags;
	usec_t born, used;
	uint8_t runs;		/* enum own_query */
	uint32_t rest;		/* as of a client */
	const uint8_t *key, *carry, *queued;
	uint32_t key_len, carry_len, queued_len;
	uint64_t silent;	/* parameters, by their place in params */
	uint32_t forgotten;	/* of struct prepared_uses */
	struct reader params, origin, statements;
	/* the place: a connection to another one is of no use */
	const char *host, *dbname, *forced_user, *connect_query; /* or NULL */
	uint32_t port;
	const char *address;	/* struct host: kind, text, addr */
	uint8_t host_kind;
	struct net_addr addr;
	char status;
	struct reader owed;	/* requests */
	uint64_t last;		/* number of a statement */
	uint64_t unnamed;	/* of struct server */
	uint64_t last_unnamed;	/* serial of such a statement */
	uint64_t startup;	/* of struct pool: a part of the place */
	const uint8_t *asked;	/* of struct server */
	uint32_t asked_len;
	bool has_welcome;
	struct reader welcome_params;
	const uint8_t *welcome;
	uint32_t welcome_len;
	struct snapshot_baggage has, base;	/* of struct keep */
	uint8_t pins;
	struct reader names;	/* of custom parameters to ask it for */
	uint32_t bring, resets;	/* of struct keep */
	uint8_t lending;
	uint32_t keep, trace;	/* SNAPSHOT_KEEP, SNAPSHOT_TRACE */
	uint32_t sets, local;	/* of struct trace */
	uint8_t untold;		/* trace.pins */
	uint32_t bound;		/* of struct keep */
};

/* 0, or -1 with e set: not ours, or of another version. */
int snapshot_parse_client(const void *p, size_t n, struct snapshot_client *out,
    struct err *e);
int snapshot_parse_server(const void *p, size_t n, struct snapshot_server *out,
    struct err *e);

/* What a statement is. */
enum { SNAPSHOT_RETIRED = 1, SNAPSHOT_UNSURE = 2, SNAPSHOT_LOST = 4,
	SNAPSHOT_CURRENT = 8 };

struct snapshot_statement {
	const char *name;	/* the client's; "" in a server's list */
	const char *server_name;
	const uint8_t *body;
	uint32_t len;
	bool retired, unsure;
	bool lost;		/* of a client's name */
	struct prepared_shape shape;	/* of that name, use, or request */
	bool current;		/* of a server: by its generation */
	struct snapshot_baggage dialect;
};

/* A request, and what its end will mean. */
struct snapshot_owed {
	char type;
	uint8_t how, own;
	uint32_t tag;
	bool has_op, has_statement;
	uint32_t changes;	/* of the op */
	struct snapshot_statement of;	/* its name, and statement if any */
};

/* The next of a list that was parsed; false: that was all. */
bool snapshot_next_statement(struct reader *r, struct snapshot_statement *out);
bool snapshot_next_owed(struct reader *r, struct snapshot_owed *out);

#endif
