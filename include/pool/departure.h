/* departure.h - SHUTDOWN DRAIN: when clients are told to go.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_DEPARTURE_H
#define POOL_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

/*
 * First a grace, in which all goes on but for /readyz. Then the doors are shut,
 * and clients may be told to go, so many a tick that the last ones are when
 * most of the time is over. All 0: there is none.
 */
struct departure {
	usec_t doors;		/* shut from then on */
	usec_t end;		/* what is left then is closed; 0: no departure */
	usec_t earned;		/* when credit was last added to */
	uint64_t credit;	/* clients that may be told to go, x 1000 */
	unsigned left;		/* clients that are waited for, at all workers */
	unsigned told;		/* clients told to go so far */
	bool shut;		/* the doors are */
	bool over;		/* nobody is left */
};

static inline bool departure_is_on(const struct departure *d)
{
	return d->end != 0;
}

/* What a second one asks for counts where it is sooner. */
void departure_begin(struct departure *d, usec_t doors, usec_t end);
/* Once a tick, the doors shut: how many of ours, left, may go by now? */
void departure_earn(struct departure *d, unsigned left, usec_t now);
/* May one more client be told to go? */
static inline bool departure_may_tell(const struct departure *d)
{
	return d->credit >= 1000;
}
/* One more client was told to go. */
void departure_note_told(struct departure *d);
/* Did a client that came at born come after the doors were shut? */
bool departure_is_late(const struct departure *d, usec_t born);
/* Seconds until the end, rounded up. */
unsigned departure_seconds(const struct departure *d, usec_t now);
/* "grace", "leaving", or NULL: there is none. */
const char *departure_phase(const struct departure *d);

#endif
