/* snapshot.h - sessions as bytes, for the process that takes over our sockets.
 *
 * The bytes contain what a suspended session is beyond its socket: keys,
 * parameters, names of prepared statements, owed answers, unprocessed bytes.
 * The reader is always another pgsluice on this machine, which identifies
 * itself when it logs in. Other programs only get sockets of sessions without
 * such state. (spec/pooling.md section 23)
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_SNAPSHOT_H
#define TRANSFER_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct err;
struct server;
struct sessions;
struct writer;

/* The application_name of a process that reads this format. */
#define SNAPSHOT_READER "pgsluice-takeover-1"

/* Can c and its server be handed over at all? */
bool snapshot_takes_client(const struct client *c);
bool snapshot_takes_server(const struct server *s);
/* ... to a process that does not read this format? */
bool snapshot_is_plain_client(const struct client *c);
bool snapshot_is_plain_server(const struct server *s);

void snapshot_write_client(const struct client *c, struct writer *w);
void snapshot_write_server(const struct server *s, struct writer *w);

/* A received session: names, the bytes, the socket. */
struct snapshot {
	int fd;
	const char *user, *database;
	const uint8_t *state;
	size_t len;
};

/*
 * Creates a session, suspended. suspension_end(), then snapshot_go_on()
 * continue it. fd is taken, and closed on failure. Returns NULL with e set;
 * e->text is "" if the session has no place here, because its database is
 * unknown.
 */
struct client *snapshot_read_client(struct sessions *ss,
    const struct snapshot *h, struct err *e);
struct server *snapshot_read_server(struct sessions *ss,
    const struct snapshot *h, struct err *e);
/* c and s belong together. */
void snapshot_link(struct client *c, struct server *s);
/* Continues c; may close it. */
void snapshot_go_on(struct client *c);

#endif
