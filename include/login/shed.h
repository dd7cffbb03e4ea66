/* shed.h - near memory_limit: clients that wait, connections that are closed.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_SHED_H
#define LOGIN_SHED_H

#include "base/ceiling.h"
#include "base/time.h"
#include "session/client.h"
#include "session/sessions.h"

/* Stop to read c: it has sent a part of a message, and memory is short. */
static inline void shed_hold(struct client *c)
{
	if (c->ss->held_since == 0)
		c->ss->held_since = time_now();
	stream_hold(&c->stream);
}

/* A few times a second: shrink caches, close connections, let held clients go on. */
void shed_tick(struct sessions *ss, usec_t now);

#endif
