/* latencies.c - what takes how long in a pool: histograms of microseconds.
 * SPDX-License-Identifier: ISC */
#include "pool/latencies.h"

#include "base/mem.h"
#include "pool/pool.h"

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

void latencies_note(struct pool *p, enum latency what, usec_t took)
{
	/* many pools are made, and never used */
	if (p->latencies == NULL)
		p->latencies = mem_zalloc(sizeof *p->latencies);
	if (p->latencies != NULL)
		histogram_note(&p->latencies->of[what],
		    took > 0 ? (uint64_t)took : 0);
}

void latencies_fini(struct latencies *l)
{
	for (size_t i = 0; i < LATENCIES; i++)
		histogram_fini(&l->of[i]);
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
	for (size_t i = 0; p->latencies != NULL && i < LATENCIES; i++) {
		struct histogram *const h = &p->latencies->of[i];

		histogram_add_now(&sum->of[i], h);
		histogram_end_period(h);
	}
}

bool latencies_are_still(const struct pool *p)
{
	for (size_t i = 0; p->latencies != NULL && i < LATENCIES; i++)
		if (!histogram_is_still(&p->latencies->of[i]))
			return false;
	return true;
}
