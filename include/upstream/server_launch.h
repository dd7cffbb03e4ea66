/* server_launch.h - opens server connections.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_LAUNCH_H
#define UPSTREAM_SERVER_LAUNCH_H

#include <stdbool.h>

struct pool;
struct pool_client;
struct server;
struct sessions;

/*
 * May p open one more server, for `dedicated` alone, or for all (NULL)? If a
 * limit requires it, idle servers are closed. *reserve is set for dedicated:
 * the server would exceed the size of the pool.
 */
bool server_launch_room(struct pool *p, const struct pool_client *dedicated,
    bool *reserve);
/*
 * Opens a connection for p in state SERVER_LOGIN. Failures are reported by
 * ops->closed, perhaps before this returns.
 */
void server_launch(struct sessions *ss, struct pool *p);
/* The same in state SERVER_DEDICATED_LOGIN, for pc alone: replication. */
void server_launch_dedicated(struct sessions *ss, struct pool_client *pc);
/* The same in state SERVER_LISTENING. NULL: no connection could be begun. */
struct server *server_launch_listener(struct sessions *ss, struct pool *p);
/*
 * Opens one in state SERVER_ACTIVE_CANCEL to the address of target, which
 * carries its cancel requests. NULL: no connection could be begun.
 */
struct server *server_launch_canceler(struct server *target);

#endif
