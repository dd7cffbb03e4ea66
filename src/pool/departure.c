/* departure.c - SHUTDOWN DRAIN: when clients are disconnected.
 * SPDX-License-Identifier: ISC */
#include "pool/departure.h"

#include <stddef.h>

#define ONE 1000U	/* client, in units of credit */

/*
 * Percent of the time in which clients are paced. In the rest no client must
 * wait.
 */
#define PACED 80

static usec_t sooner(usec_t a, usec_t b)
{
	return a < b ? a : b;
}

void departure_begin(struct departure *d, usec_t doors, usec_t end)
{
	const bool again = departure_is_on(d);

	if (!d->shut)
		d->doors = again ? sooner(d->doors, doors) : doors;
	d->end = again ? sooner(d->end, end) : end;
}

/*
 * As many clients per second as are needed so that all leave in time, and at
 * least one per tick: a few do not overload anything.
 */
void departure_earn(struct departure *d, unsigned left, usec_t now)
{
	const uint64_t all = (uint64_t)left * ONE;
	const usec_t since = d->earned != 0 ? d->earned : d->doors;
	const usec_t paced = d->doors + (d->end - d->doors) / 100 * PACED;
	const uint64_t due = paced <= now ? all :
	    all * (uint64_t)(now - since) / (uint64_t)(paced - since);

	d->earned = now;
	d->credit += due > ONE ? due : ONE;
	if (d->credit > all)
		d->credit = all;
}

void departure_note_told(struct departure *d)
{
	d->told++;
	d->credit -= ONE;
}

bool departure_is_late(const struct departure *d, usec_t born)
{
	return d->shut && born > d->doors;
}

unsigned departure_seconds(const struct departure *d, usec_t now)
{
	return now >= d->end ? 0 : (unsigned)((d->end - now + USEC - 1) / USEC);
}

const char *departure_phase(const struct departure *d)
{
	if (!departure_is_on(d))
		return NULL;
	return d->shut ? "leaving" : "grace";
}
