/* relay_repeat.h - what a server did not get to run is asked once more.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_REPEAT_H
#define RELAY_RELAY_REPEAT_H

#include <stdbool.h>

#include "proto/track.h"
#include "relay/relay_parts.h"
#include "session/flight.h"

#define REPEAT_MAX 4096		/* bytes of a batch that is kept */

/*
 * Hot: a request that names a statement comes. Is it the first one of a batch,
 * outside of a transaction? Then the batch is kept when it has gone.
 */
static inline void relay_repeat_note(struct relay_up *up)
{
	struct server *const s = up->s;

	s->asked.len = 0;
	if ((track_is_done(&s->track) || flight_is_fresh(s)) &&
	    !up->c->relay.repeats)
		up->first = up->m;
	up->c->relay.repeats = false;
}

/* The burst with up->first is done with: used bytes of it have gone. */
void relay_repeat_keep(struct relay_up *up, const struct burst *b,
    size_t used);

/*
 * A whole error of the server. If it is one of those that preparing again
 * cures, and nothing ran, the client doesn't get it: its batch comes again,
 * from its carry, and c->relay.repeats says so.
 */
bool relay_repeat(struct relay_down *d);

/*
 * Was a type of the statement dropped since somebody has prepared its text?
 * Made anew under its name it is another one for PostgreSQL.
 */
bool relay_lacks_type(const struct relay_down *d);

#endif
