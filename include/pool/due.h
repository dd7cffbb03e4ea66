/* due.h - when a pool must be looked at again.
 *
 * Whatever changes in a pool wakes it: the next tick of the upkeep looks at it.
 * Then it is known when time alone will make something due, and nobody comes
 * before. So a pool in which nothing happens costs nothing.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_DUE_H
#define POOL_DUE_H

#include <stdbool.h>

#include "base/time.h"

struct pool;

#define DUE_GRAIN (USEC / 10)	/* of time; not less than a tick */
#define DUE_AGAIN USEC		/* where nobody tells when it can be done */

/* Just past the limit; WHEEL_NEVER: there is none. */
usec_t due_after(usec_t since, usec_t limit);

/* Is a client in p, logged in or waiting for auth_query? */
bool due_has_clients(const struct pool *p);
/* Is there anybody in p: a client that is logged in, or a server? */
bool due_is_used(const struct pool *p);
bool due_has_waiters(const struct pool *p);
/* Are there servers more than min_pool_size? */
bool due_is_above_minimum(const struct pool *p);

/*
 * The idle servers of p were looked at just now. Returns when one of them is
 * due if none is used until then; from p->idle_due_at on one may be whatever
 * happens, unless pool_recheck() comes, or a server gets idle that was last
 * used before now.
 */
usec_t due_idle_servers(struct pool *p, usec_t now);

struct due_times {
	usec_t now;
	usec_t retry;			/* of a pool that is down; or WHEEL_NEVER */
	usec_t idle;			/* when the idle servers are due */
	usec_t unused;			/* pool_idle_timeout */
};

/*
 * All that was due in p was done. When must it be looked at again? 0: in the
 * next tick; WHEEL_NEVER: when it is woken.
 */
usec_t due_next(const struct pool *p, const struct due_times *t);

#endif
