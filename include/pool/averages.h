/* averages.h - the end of each stats_period: counters become averages.
 *
 * Only pools in which something has happened take part. If there are very many,
 * they are counted in steps.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_AVERAGES_H
#define POOL_AVERAGES_H

#include <stdbool.h>

#include "pool/latencies.h"
#include "pool/tally.h"

struct pool;

/*
 * In the catalog; all zero at first. Private to averages.c, except the times.
 */
struct averages {
	struct pool *pools;		/* DL: pools that are not counted yet
					 * come first */
	unsigned round;			/* number of ends so far */
	struct counters last, before;	/* sums of counted pools */
	struct latencies latencies;	/* sums since the start */
	usec_t since, since_before;	/* the beginning of this period, and of
					 * the last one */
	bool open;			/* the averages of the last period were
					 * not told yet */
};

/* Something may be counted in p now or later. */
void averages_note(struct averages *c, struct pool *p);
/* Frees the rest at the end of the program. */
void averages_fini(struct averages *c);
/* p will be freed; its durations stay in the sums. */
void averages_forget(struct averages *c, struct pool *p);

/* A period ends now. If the last end is still open, it is completed at once. */
void averages_begin(struct averages *c);
/* Counts up to `most` more pools. Returns true if some are left. */
bool averages_go_on(struct averages *c, unsigned most);
/* Counts the rest, because the averages will be read. */
void averages_settle(struct averages *c);
/*
 * All pools are counted: puts the averages of the last period into *avg, once.
 * Returns false if that was done already, or if some pools are left.
 */
bool averages_close(struct averages *c, usec_t elapsed, struct counters *avg);

#endif
