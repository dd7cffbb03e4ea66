/* idle.h - client_idle_timeout, when users have limits of their own.
 * SPDX-License-Identifier: ISC */
#ifndef APP_IDLE_H
#define APP_IDLE_H

#include <stdbool.h>

#include "base/time.h"

struct app;
struct database;
struct idle;
struct settings;
struct timeout;
struct user;

/*
 * Every client starts in ss->idle_list, which runs with the shortest limit that
 * any client has. A client with a longer limit goes on from there to the list
 * of that limit, so that each list stays in order and only heads are looked at.
 * Returns NULL without memory.
 */
struct idle *idle_new(struct app *app);
void idle_free(struct idle **i);

/* As timeout_list_run(), of all these lists. */
bool idle_run(struct idle *i, usec_t now);
/* Of the watched clients, the one that has been idle for longest; or NULL. */
struct timeout *idle_oldest(const struct idle *i);
/* The limits have changed, or a drain begins: everybody starts anew, with the time passed. */
void idle_reset(struct idle *i);

/* Which of several settings counts for a session. */

/* (spec/pooling.md section 1) All in microseconds; 0 = no limit. */

/* u: the login user; may be NULL. */
usec_t effective_client_idle(const struct settings *set,
    const struct user *u);
usec_t effective_query_wait(const struct settings *set, const struct user *u,
    const struct database *db);

/* Limits of work on a server; u is the pool's user. */
struct effective_work {
	usec_t query, idle_transaction, transaction;
};
struct effective_work effective_work(const struct settings *set,
    const struct user *u);

#endif
