/* replication.h - clients that have a server of their own, never pooled.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_REPLICATION_H
#define RELAY_REPLICATION_H

#include <stdbool.h>

#include "pool/close_reason.h"

struct client;
struct pool;
struct server;
struct writer;

/* Open servers for the clients that wait in p, as far as there is room. */
void replication_launch(struct pool *p);
/*
 * What the StartupMessage of s carries for its client.
 * Returns: does the connection know SQL? A physical one does not.
 */
bool replication_introduce(const struct server *s, struct writer *w);
/* Login of s is done: from now on it is linked. May close the client. */
void replication_ready(struct server *s);
/* Close the servers that log in; their clients wait for others. */
void replication_drop_logins(struct pool *p, enum close_reason why);

#endif
