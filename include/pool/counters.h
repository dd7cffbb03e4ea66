/* counters.h - per-pool counters and their averages over stats_period.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_COUNTERS_H
#define POOL_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

/* Plain increments: c->xact_count++. Times are microseconds. */
struct counters {
#define COUNTER(name, ...) uint64_t name;
#include "pool/counters.def"
#undef COUNTER
};

/* The counters as an array of COUNTERS values, in the order of the .def. */
#define COUNTERS (sizeof(struct counters) / sizeof(uint64_t))

/* Live numbers and the two snapshots that averages are made from. */
struct counted {
	struct counters now;
	struct counters last, before;	/* of the latest two periods' ends */
};

void counters_add(struct counters *sum, const struct counters *c);
/* The same for averages of one time: a mean counts as often as its events. */
void counters_add_average(struct counters *sum, const struct counters *avg);
/* A period ended: before = last, last = now. */
void counted_snapshot(struct counted *c);
/*
 * Averages since the snapshot before the last: counts and bytes per second,
 * times per event (transaction, query, assignment), cut to whole numbers.
 */
void counters_average(struct counters *avg, const struct counters *now,
    const struct counters *before, usec_t elapsed);

#endif
