/* latencies.h - durations in a pool: histograms of microseconds.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LATENCIES_H
#define POOL_LATENCIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/time.h"
#include "pool/pool.h"

/*
 * What took how long since somebody looked, over all pools.
 *
 * The histograms of pools are for periods of a minute; this is one for all, of
 * a fixed size, that is emptied every other second. A note is an addition.
 */

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

enum latency {
	LATENCY_WAIT,		/* for a server; of each that was assigned */
	LATENCY_QUERY,
	LATENCY_XACT,
	LATENCY_LOGIN,		/* of a client, from accept() */
	LATENCY_CONNECT,	/* of a server, its login included */
	LATENCIES
};

/* What the hot path leaves out is added by latencies_settle(). */
struct latencies {
	struct histogram of[LATENCIES];
	struct histogram alone;		/* queries that were transactions */
	uint64_t unassigned;		/* waits that ended without a server */
};

/* As SHOW LATENCIES names it. */
const char *latency_name(enum latency what);

/* The latencies of a pool, made when first asked for; NULL: no memory. */
struct latencies *latencies_get(struct pool *p);

/* Hot: it took so long in p. A wait of no time needs no note here. */
static inline void latencies_note(struct pool *p, enum latency what,
    usec_t took)
{
	struct latencies *const l =
	    p->latencies != NULL ? p->latencies : latencies_get(p);

	if (l != NULL)
		histogram_note(&l->of[what], (uint64_t)took, 1);
}

/* Hot: an event of this kind took so long, for views of what happens now. */
static inline void latencies_note_recent(struct pool *p,
    enum recent_kind kind, usec_t took)
{
	if (p->recent != NULL)
		recent_note(p->recent, kind, took);
}

/* Hot: a query or a transaction, by its kind, took so long. */
static inline void latencies_note_end(struct pool *p, enum recent_kind kind,
    usec_t took)
{
	const size_t bucket = histogram_bucket((uint64_t)took);
	struct latencies *const l =
	    p->latencies != NULL ? p->latencies : latencies_get(p);

	if (l != NULL)
		histogram_note_in(kind == RECENT_ALONE ? &l->alone :
		    &l->of[kind == RECENT_XACT ? LATENCY_XACT : LATENCY_QUERY],
		    bucket, (uint64_t)took, 1);
	if (p->recent != NULL)
		recent_note_in(p->recent, kind, bucket);
}

/* A client has waited so long, and got no server. */
void latencies_note_unassigned(struct pool *p, usec_t took);

/* All of p's histograms are complete. */
void latencies_settle(struct pool *p);

void latencies_fini(struct latencies *l);
/* Takes NULL; *l is NULL then. */
void latencies_free(struct latencies **l);

/* p's period ends; sum, which has its own, counts what was in it. */
void latencies_end_period(struct latencies *sum, struct pool *p);
/* Nothing in p's period, nor in its last. */
bool latencies_are_still(const struct pool *p);

#endif
