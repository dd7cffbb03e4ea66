/* handover.h - sessions as bytes, for the process that takes our sockets over.
 *
 * What a frozen session is beyond its socket: keys, parameters, names of
 * prepared statements, what is owed, bytes not looked at. The reader is always
 * another pgsluice on this machine, which says so when it logs in; others get
 * only sockets to which nothing of this belongs. (spec/pooling.md section 23)
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_HANDOVER_H
#define SESSION_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct err;
struct server;
struct sessions;
struct writer;

/* The application_name by which the other says that it knows our format. */
#define HANDOVER_READER "pgsluice-takeover-1"

/* May c, and its server, be handed over at all? */
bool handover_takes_client(const struct client *c);
bool handover_takes_server(const struct server *s);
/* ... to one that knows nothing of what is written here? */
bool handover_is_plain_client(const struct client *c);
bool handover_is_plain_server(const struct server *s);

void handover_write_client(const struct client *c, struct writer *w);
void handover_write_server(const struct server *s, struct writer *w);

/* A session as it was received: names, bytes of the above, its socket. */
struct handover {
	int fd;
	const char *user, *database;
	const uint8_t *state;
	size_t len;
};

/*
 * Make it again, frozen: freeze_end() and then handover_go_on() set it going.
 * fd is taken, and closed on failure.
 * Returns: NULL with e set; e->text is "" when there is no place for it here,
 *          as its database is unknown.
 */
struct client *handover_read_client(struct sessions *ss,
    const struct handover *h, struct err *e);
struct server *handover_read_server(struct sessions *ss,
    const struct handover *h, struct err *e);
/* They belong together. */
void handover_link(struct client *c, struct server *s);
/* Serve c again; may close it. */
void handover_go_on(struct client *c);

#endif
