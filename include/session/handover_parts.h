/* handover_parts.h - the format of handover.h; for handover*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_HANDOVER_PARTS_H
#define SESSION_HANDOVER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "proto/reader.h"

struct err;

#define HANDOVER_VERSION 2

enum handover_flag {
	HANDOVER_WAITING = 1,	/* client: asked for a server */
	HANDOVER_HOLD = 2,	/* client: fields of struct client ... */
	HANDOVER_TRIED = 4,
	HANDOVER_FORGETS = 8,
	HANDOVER_DISCARD = 16,
	HANDOVER_TRANSLATES = 32,	/* ... relay_translates() */
	HANDOVER_CLOSE = 64,	/* server: close_needed */
	HANDOVER_READY = 128,	/* server: fields of struct track ... */
	HANDOVER_COPY_IN = 256,
	HANDOVER_ABORTED = 512,
	HANDOVER_DOUBT = 1024,
	HANDOVER_OLD = 2048,	/* server: knows no newer protocol */
	HANDOVER_DROP = 4096,	/* both: skip_drop */
	HANDOVER_NOTIFIED = 8192,	/* client: the field */
	HANDOVER_SUPERUSER = 16384,	/* server: the field */
	HANDOVER_WELCOME = 32768,	/* client: waits for its greeting */
	HANDOVER_SESSION = 65536,	/* both: linked in this pool_mode, */
	HANDOVER_STATEMENT = 131072,	/* or in this one */
};

/* All point into the bytes that were parsed; lists are walked by next(). */
struct handover_client {
	unsigned flags;
	usec_t born, request_time, query_start, xact_start, waited, wait_since;
	uint32_t skip;		/* bytes of the open message, to pass or drop */
	const uint8_t *key, *carry;
	const uint8_t *queued;	/* what its socket has not taken */
	uint32_t key_len, carry_len, queued_len;
	struct reader params, statements, start;
	uint8_t resetting;
	uint64_t resets;	/* of parameters, by their place in start */
	const char *leaving, *leaving_portal;	/* of struct client; or NULL */
	const char *query_text;	/* likewise */
	uint64_t last;		/* number of a statement */
};

struct handover_server {
	unsigned flags;
	usec_t born, used;
	uint8_t chore;		/* enum server_chore */
	uint32_t skip;		/* as of a client */
	const uint8_t *key, *carry, *queued;
	uint32_t key_len, carry_len, queued_len;
	uint32_t forgotten;	/* of struct prepared_uses */
	struct reader params, statements;
	/* where it leads to: not the same any more, it is of no use */
	const char *host, *dbname, *forced_user, *connect_query; /* or NULL */
	uint32_t port;
	const char *address;	/* struct host: kind, text, addr */
	uint8_t host_kind, family;
	uint16_t address_port;
	int32_t pid;
	const uint8_t *ip;	/* 16 bytes */
	char status;
	struct reader owed;	/* requests */
	uint64_t last;		/* number of a statement */
	bool has_welcome;
	struct reader welcome_params;
	const uint8_t *welcome;
	uint32_t welcome_len;
};

/* 0, or -1 with e set: not ours, or of another version. */
int handover_parse_client(const void *p, size_t n, struct handover_client *out,
    struct err *e);
int handover_parse_server(const void *p, size_t n, struct handover_server *out,
    struct err *e);

struct handover_pair {
	const char *name, *value;	/* value may be NULL */
};

struct handover_statement {
	const char *name;	/* the client's; "" in a server's list */
	const char *server_name;
	const uint8_t *body;
	uint32_t len;
	bool retired;
};

/* A request, and what its end will mean. */
struct handover_owed {
	char type;
	uint8_t how;
	uint32_t tag;
	bool has_op, has_statement;
	uint32_t changes;	/* of the op */
	struct handover_statement of;	/* its name, and statement if any */
};

/* The next of a list that was parsed; false: that was all. */
bool handover_next_pair(struct reader *r, struct handover_pair *out);
bool handover_next_statement(struct reader *r, struct handover_statement *out);
bool handover_next_owed(struct reader *r, struct handover_owed *out);

#endif
