/* effective.h - which of several settings counts for a session.
 * SPDX-License-Identifier: ISC */
#ifndef APP_EFFECTIVE_H
#define APP_EFFECTIVE_H

#include "base/time.h"

struct database;
struct settings;
struct user;

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
