/* latencies.c - durations in a pool: histograms of microseconds.
 * SPDX-License-Identifier: ISC */
#include "pool/latencies.h"

#include <string.h>

#include "base/mem.h"

const char *latency_name(enum latency what)
{
	static const char *const names[LATENCIES] = {
		[LATENCY_WAIT] = "wait",
		[LATENCY_QUERY] = "query",
		[LATENCY_XACT] = "transaction",
		[LATENCY_LOGIN] = "client login",
		[LATENCY_CONNECT] = "server connect",
	};

	return names[what];
}

struct latencies *latencies_get(struct pool *p)
{
	/* many pools are never used */
	if (p->latencies == NULL)
		p->latencies = mem_zalloc(sizeof *p->latencies);
	return p->latencies;
}

void latencies_note_unassigned(struct pool *p, usec_t took)
{
	if (latencies_get(p) == NULL)
		return;
	p->latencies->unassigned++;
	latencies_note(p, LATENCY_WAIT, took);
	latencies_note_recent(p, RECENT_WAIT, took);
}

/* A client that got a server at once has waited for 0 us. */
static void add_short_waits(struct pool *p)
{
	struct latencies *const l = p->latencies;
	struct histogram *const h = &l->of[LATENCY_WAIT];
	const uint64_t waits = p->counted.now.server_assignment_count +
	    l->unassigned, noted = h->count_all + h->count_now;

	if (waits > noted)
		histogram_note(h, 0, (uint32_t)(waits - noted));
}

void latencies_settle(struct pool *p)
{
	struct latencies *const l = p->latencies;

	if (l == NULL)
		return;
	add_short_waits(p);
	if (l->alone.count_now == 0)
		return;
	histogram_add_now(&l->of[LATENCY_QUERY], &l->alone);
	histogram_add_now(&l->of[LATENCY_XACT], &l->alone);
	histogram_clear_now(&l->alone);
}

void latencies_fini(struct latencies *l)
{
	for (size_t i = 0; i < LATENCIES; i++)
		histogram_fini(&l->of[i]);
	histogram_fini(&l->alone);
}

void latencies_free(struct latencies **l)
{
	if (*l == NULL)
		return;
	latencies_fini(*l);
	mem_free(*l);
	*l = NULL;
}

void latencies_end_period(struct latencies *sum, struct pool *p)
{
	latencies_settle(p);
	for (size_t i = 0; p->latencies != NULL && i < LATENCIES; i++) {
		struct histogram *const h = &p->latencies->of[i];

		histogram_add_now(&sum->of[i], h);
		histogram_end_period(h);
	}
}

bool latencies_are_still(const struct pool *p)
{
	if (p->latencies != NULL && p->latencies->alone.count_now > 0)
		return false;
	for (size_t i = 0; p->latencies != NULL && i < LATENCIES; i++)
		if (!histogram_is_still(&p->latencies->of[i]))
			return false;
	return true;
}

static uint64_t latencies_times(const struct recent *r, unsigned kinds,
    size_t bucket)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < RECENT_KINDS; k++) {
		if (kinds & 1u << k)
			n += r->times[k][bucket];
	}
	return n;
}

/* By nearest rank. */
static uint64_t value_at(const struct recent *r, unsigned kinds,
    uint64_t rank)
{
	uint64_t seen = 0;

	for (size_t b = 0; b < RECENT_BUCKETS; b++) {
		seen += latencies_times(r, kinds, b);
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
		n += latencies_times(r, kinds, b);
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
