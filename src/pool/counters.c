/* counters.c - per-pool counters and their averages over stats_period.
 * SPDX-License-Identifier: ISC */
#include "pool/counters.h"

#include <string.h>

void counters_add(struct counters *sum, const struct counters *c)
{
#define COUNTER(name, ...) sum->name += c->name;
#include "pool/counters.def"
#undef COUNTER
}

void counted_snapshot(struct counted *c)
{
	c->before = c->last;
	c->last = c->now;
}

static uint64_t mean(uint64_t a, uint64_t times_a, uint64_t b, uint64_t times_b)
{
	const uint64_t times = times_a + times_b;

	return times == 0 ? 0 : (a * times_a + b * times_b) / times;
}

void counters_add_average(struct counters *sum, const struct counters *avg)
{
	const struct counters was = *sum;

	counters_add(sum, avg);
	sum->xact_time = mean(was.xact_time, was.xact_count,
	    avg->xact_time, avg->xact_count);
	sum->query_time = mean(was.query_time, was.query_count,
	    avg->query_time, avg->query_count);
	sum->wait_time = mean(was.wait_time, was.server_assignment_count,
	    avg->wait_time, avg->server_assignment_count);
}

static uint64_t per_event(uint64_t time, uint64_t events)
{
	return events == 0 ? 0 : time / events;
}

void counters_average(struct counters *avg, const struct counters *now,
    const struct counters *before, usec_t elapsed)
{
	struct counters d;

#define COUNTER(name, ...) d.name = now->name - before->name;
#include "pool/counters.def"
#undef COUNTER
	const uint64_t usec = elapsed > 0 ? (uint64_t)elapsed : 1;

#define COUNTER(name, ...) avg->name = \
	(uint64_t)((unsigned __int128)d.name * (uint64_t)USEC / usec);
#include "pool/counters.def"
#undef COUNTER
	avg->xact_time = per_event(d.xact_time, d.xact_count);
	avg->query_time = per_event(d.query_time, d.query_count);
	avg->wait_time = per_event(d.wait_time, d.server_assignment_count);
}
