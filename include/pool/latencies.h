/* latencies.h - what takes how long in a pool: histograms of microseconds.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LATENCIES_H
#define POOL_LATENCIES_H

#include <stdbool.h>

#include "base/histogram.h"
#include "base/time.h"

struct pool;

enum latency {
	LATENCY_WAIT,		/* for a server; of each that was assigned */
	LATENCY_QUERY,
	LATENCY_XACT,
	LATENCY_LOGIN,		/* of a client, from accept() */
	LATENCY_CONNECT,	/* of a server, its login included */
	LATENCIES
};

struct latencies {
	struct histogram of[LATENCIES];
};

/* As SHOW LATENCIES names it. */
const char *latency_name(enum latency what);

/* Hot: it took so long in p. */
void latencies_note(struct pool *p, enum latency what, usec_t took);
void latencies_fini(struct latencies *l);
/* Takes NULL; *l is NULL then. */
void latencies_free(struct latencies **l);

/* p's period ends; sum, which has its own, counts what was in it. */
void latencies_end_period(struct latencies *sum, struct pool *p);
/* Nothing in p's period, nor in its last. */
bool latencies_are_still(const struct pool *p);

#endif
