/* shed.h - memory_limit is near: who must wait, and who must go.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SHED_H
#define SESSION_SHED_H

#include "base/ceiling.h"
#include "base/time.h"
#include "session/client.h"
#include "session/sessions.h"

/* c has sent a part of a message, for which memory is short: it is not read. */
static inline void shed_hold(struct client *c)
{
	if (c->ss->held_since == 0)
		c->ss->held_since = time_now();
	stream_hold(&c->stream);
}

/* A few times a second: caches shrink, connections go, and others go on. */
void shed_tick(struct sessions *ss, usec_t now);

#endif
