/* relay.h - the hot path: messages between a linked client and server.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include <stdbool.h>

struct client;
struct client_role;
struct server;

/* What a client is after its login (relay_role.c). */
const struct client_role *relay_role(void);
const struct client_role *replication_role(void);

/* Bytes of a logged-in client, and of a server after its login. */
void relay_client_input(struct client *c);
void relay_server_input(struct server *s);

/* The overflow queue of c or s is empty: the other side may be read again. */
void relay_client_drained(struct client *c);
void relay_server_drained(struct server *s);

/*
 * c, which waits for a server, is asked to give up. The query it waits with
 * has failed then (57014); the batch, up to its Sync. May close c.
 */
void relay_cancel_wait(struct client *c);

/* c got its server, or the SETs are done: go on with what it sent. */
void relay_resume(struct client *c);
/*
 * What c has left in s is known. If all of it is in force, c goes on: with s,
 * or without.
 */
void relay_conclude(struct client *c, struct server *s);

/* c stood still (stream_suspend()): go on, next turn. */
void relay_unsuspend(struct client *c);

/* Are named statements of c kept apart? (spec/pooling.md section 16) */
bool relay_translates(const struct client *c);

#endif
