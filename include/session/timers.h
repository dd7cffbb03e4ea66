/* timers.h - from a time-out back to the session it is embedded in.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_TIMERS_H
#define SESSION_TIMERS_H

#include <stddef.h>

#include "base/container.h"
#include "session/client.h"
#include "session/server.h"

static inline struct client *client_of_timer(struct timeout *t)
{
	return container_of(t, struct client, timer);
}

static inline struct server *server_of_timer(struct timeout *t)
{
	return container_of(t, struct server, timer);
}

#endif
