/* recent.c - what took how long since somebody looked, over all pools.
 * SPDX-License-Identifier: ISC */
#include "pool/recent.h"

#include <string.h>

static uint64_t times(const struct recent *r, unsigned kinds, size_t bucket)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < RECENT_KINDS; k++) {
		if (kinds & 1u << k)
			n += r->times[k][bucket];
	}
	return n;
}

/* (nearest rank) */
static uint64_t value_at(const struct recent *r, unsigned kinds,
    uint64_t rank)
{
	uint64_t seen = 0;

	for (size_t b = 0; b < RECENT_BUCKETS; b++) {
		seen += times(r, kinds, b);
		if (seen >= rank)
			return histogram_value(b);
	}
	return 0;
}

static uint64_t rank_of(uint64_t count, unsigned percent)
{
	return (count * percent + 99) / 100;
}

void recent_summarize(const struct recent *r, unsigned kinds,
    struct recent_summary *out)
{
	uint64_t n = 0;

	for (size_t b = 0; b < RECENT_BUCKETS; b++)
		n += times(r, kinds, b);
	*out = (struct recent_summary){ .count = n };
	if (n == 0)
		return;
	out->p50 = value_at(r, kinds, rank_of(n, 50));
	out->p95 = value_at(r, kinds, rank_of(n, 95));
	out->p99 = value_at(r, kinds, rank_of(n, 99));
}

void recent_clear(struct recent *r)
{
	memset(r, 0, sizeof *r);
}

void recent_move(struct recent *into, struct recent *from)
{
	for (size_t k = 0; k < RECENT_KINDS; k++) {
		for (size_t b = 0; b < RECENT_BUCKETS; b++)
			into->times[k][b] += from->times[k][b];
	}
	recent_clear(from);
}
