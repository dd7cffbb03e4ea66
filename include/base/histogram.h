/* histogram.h - how often which value came, for percentiles.
 *
 * Log-linear: each power of two has 16 buckets of the same width, so a value
 * that is read back is wrong by 1/32 at most, and below 16 it is exact. What is
 * 2^37 (38 hours in microseconds) or more counts as the greatest bucket. Powers
 * of two that no value came in cost nothing.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 16	/* in each power of two */
#define HISTOGRAM_POWERS 34	/* 0 to 15, then from 2^4 to 2^36 */

struct histogram_power {
	uint64_t all[HISTOGRAM_BUCKETS];	/* before this period */
	uint32_t now[HISTOGRAM_BUCKETS];	/* in this period */
};

#define HISTOGRAM_RANKS 5
/* p50 p90 p95 p99 p99.9, per mille */
unsigned histogram_rank(unsigned i);

struct histogram_summary {
	uint64_t count;
	uint64_t at[HISTOGRAM_RANKS];	/* by histogram_rank(); 0: no value */
	uint64_t max;
};

/* All zero at first. */
struct histogram {
	struct histogram_power *powers[HISTOGRAM_POWERS];	/* owned */
	uint64_t count_all, count_now;
	uint64_t max_all, max_now;
	struct histogram_summary last;	/* of the last period */
};

void histogram_fini(struct histogram *h);

/* The number of a value's bucket, over all powers. */
static inline size_t histogram_bucket(uint64_t value)
{
	enum { LAST = HISTOGRAM_POWERS * HISTOGRAM_BUCKETS - 1 };

	if (value < HISTOGRAM_BUCKETS)
		return value;
	/* how far its first five bits are from the end */
	const unsigned shift = 59 - (unsigned)__builtin_clzll(value);
	const size_t i = (size_t)shift * HISTOGRAM_BUCKETS + (value >> shift);

	return i < LAST ? i : LAST;
}

/* The middle of a bucket. */
uint64_t histogram_value(size_t bucket);

/* The power's place, or NULL: no memory. */
struct histogram_power *histogram_get_power(struct histogram *h, size_t i);

/*
 * Count a value so many times, if there is memory for it; its bucket is the
 * caller's to find, who may need it for more than one histogram.
 */
static inline void histogram_note_in(struct histogram *h, size_t bucket,
    uint64_t value, uint32_t times)
{
	struct histogram_power *p = h->powers[bucket / HISTOGRAM_BUCKETS];

	if (p == NULL)
		p = histogram_get_power(h, bucket / HISTOGRAM_BUCKETS);
	if (p == NULL)
		return;
	p->now[bucket % HISTOGRAM_BUCKETS] += times;
	h->count_now += times;
	if (value > h->max_now)
		h->max_now = value;
}

static inline void histogram_note(struct histogram *h, uint64_t value,
    uint32_t times)
{
	histogram_note_in(h, histogram_bucket(value), value, times);
}

/* Forget this period, but what is before it. */
void histogram_clear_now(struct histogram *h);
/* Count in sum's period what from counted in its own. */
void histogram_add_now(struct histogram *sum, const struct histogram *from);
/* Count in sum all that from counted. */
void histogram_add(struct histogram *sum, const struct histogram *from);

/*
 * Add to the last period's summary of one place that of another: ranks can't be
 * added up, so each is the greater one, which the true one is not above.
 */
void histogram_summary_add(struct histogram_summary *sum,
    const struct histogram_summary *from);

/* The period ends: h->last tells of it, and the next one begins. */
void histogram_end_period(struct histogram *h);
/* Was nothing counted in this period and in the last? */
bool histogram_is_still(const struct histogram *h);
/* Since the beginning, this period included. */
void histogram_summarize(const struct histogram *h,
    struct histogram_summary *out);

#endif
