/* averages.h - the end of each stats_period: counters become averages.
 *
 * A pool in which nothing is counted has nothing to be brought up to date, so
 * only those take part that something happened in. Of very many, some are
 * counted at a time.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_AVERAGES_H
#define POOL_AVERAGES_H

#include <stdbool.h>

#include "pool/latencies.h"
#include "pool/tally.h"

struct pool;

/* In the catalog; all zero at first. Private to averages.c but for the times. */
struct averages {
	struct pool *pools;		/* DL: first pools not counted yet */
	unsigned round;			/* how many ends there were */
	struct counters last, before;	/* sums of pools counted */
	struct latencies latencies;	/* sums since the start */
	usec_t since, since_before;	/* begin of this period, of the last */
	bool open;			/* its averages were not told yet */
};

/* Something may be counted in p from now on, or was just now. */
void averages_note(struct averages *c, struct pool *p);
/* What is left in it at the end of the program. */
void averages_fini(struct averages *c);
/* p is going; what took long in it is not forgotten. */
void averages_forget(struct averages *c, struct pool *p);

/* A period ends now. If the last end is still open, it ends at once. */
void averages_begin(struct averages *c);
/* Count so many pools more. Returns whether some are left. */
bool averages_go_on(struct averages *c, unsigned most);
/* Count what is left: the averages are about to be read. */
void averages_settle(struct averages *c);
/*
 * All are counted: put the averages over the last period in *avg, once.
 * Returns false when that was so already, or some are left.
 */
bool averages_close(struct averages *c, usec_t elapsed, struct counters *avg);

#endif
