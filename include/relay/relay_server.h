/* relay_server.h - what a pooled server has to do with the client it serves.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_SERVER_H
#define RELAY_RELAY_SERVER_H

#include <stdbool.h>

struct server;

/*
 * struct track_ops: what the end of a request means for the prepared
 * statements. op is a prepared_op, arg the server.
 */
void relay_commit(void *op, void *arg);
void relay_rollback(void *op, void *arg);

/* Is no message of its client half sent to s? */
bool relay_can_terminate(const struct server *s);

#endif
