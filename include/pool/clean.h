/* clean.h - servers that no client has had, for auth_query.
 *
 * What a client has left in a session (temporary tables, settings) must not
 * have a say in who gets in. So a login that asks a server for a secret waits
 * like any client, but takes a clean server only.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_CLEAN_H
#define POOL_CLEAN_H

#include <stdbool.h>

#include "base/time.h"

struct pool;
struct pool_client;
struct pool_server;

/* An idle one to use next, or NULL. */
struct pool_server *clean_pick(const struct pool *p);
/* One that a client has had, to be closed in favour of a clean one; or NULL. */
struct pool_server *clean_pick_lent(const struct pool *p);
/* The client to serve next that takes any server, or NULL. */
struct pool_client *clean_pick_other(const struct pool *p);
/* Does a login wait for a clean server, and none is on its way? */
bool clean_is_wanted(const struct pool *p, usec_t now);

#endif
