/* recent.h - what took how long since somebody looked, over all pools.
 *
 * The histograms of pools are for periods of a minute; this is one for all, of
 * a fixed size, that is emptied every other second. A note is an addition.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_RECENT_H
#define POOL_RECENT_H

#include <stdint.h>

#include "base/histogram.h"
#include "base/time.h"

#define RECENT_BUCKETS (HISTOGRAM_POWERS * HISTOGRAM_BUCKETS)

enum recent_kind {
	RECENT_WAIT,		/* for a server; waits of no time, too */
	RECENT_QUERY,		/* inside a transaction of several */
	RECENT_ALONE,		/* queries that were transactions */
	RECENT_XACT,		/* transactions of several */
	RECENT_KINDS
};

/* In the catalog; all zero at first. */
struct recent {
	uint32_t times[RECENT_KINDS][RECENT_BUCKETS];
};

/* bucket: of histogram_bucket(). */
static inline void recent_note_in(struct recent *r, enum recent_kind kind,
    size_t bucket)
{
	r->times[kind][bucket]++;
}

static inline void recent_note(struct recent *r, enum recent_kind kind,
    usec_t took)
{
	recent_note_in(r, kind, histogram_bucket((uint64_t)took));
}

struct recent_summary {
	uint64_t count;
	uint64_t p50, p95, p99;		/* 0: no value */
};

/* Of these kinds together, as 1 << RECENT_...; */
void recent_summarize(const struct recent *r, unsigned kinds,
    struct recent_summary *out);
void recent_clear(struct recent *r);
/* What from has noted is into's from now on. */
void recent_move(struct recent *into, struct recent *from);

#endif
