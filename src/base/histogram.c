/* histogram.c - how often which value came, for percentiles.
 * SPDX-License-Identifier: ISC */
#include "base/histogram.h"

#include <string.h>

#include "base/mem.h"

#define LAST ((size_t)HISTOGRAM_POWERS * HISTOGRAM_BUCKETS - 1)

unsigned histogram_rank(unsigned i)
{
	static const unsigned ranks[HISTOGRAM_RANKS] = {
		500, 900, 950, 990, 999 };

	return ranks[i];
}

uint64_t histogram_value(size_t bucket)
{
	if (bucket < HISTOGRAM_BUCKETS)
		return bucket;
	const size_t power = bucket / HISTOGRAM_BUCKETS - 1;
	const uint64_t low = (uint64_t)(HISTOGRAM_BUCKETS +
	    bucket % HISTOGRAM_BUCKETS) << power;

	return low + (power > 0 ? (uint64_t)1 << (power - 1) : 0);
}

struct histogram_power *histogram_get_power(struct histogram *h, size_t i)
{
	if (h->powers[i] == NULL)
		h->powers[i] = mem_zalloc(sizeof *h->powers[i]);
	return h->powers[i];
}

void histogram_fini(struct histogram *h)
{
	for (size_t i = 0; i < HISTOGRAM_POWERS; i++)
		mem_free(h->powers[i]);
	memset(h, 0, sizeof *h);
}

void histogram_clear_now(struct histogram *h)
{
	for (size_t i = 0; i < HISTOGRAM_POWERS; i++) {
		if (h->powers[i] != NULL)
			memset(h->powers[i]->now, 0, sizeof h->powers[i]->now);
	}
	h->count_now = h->max_now = 0;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void histogram_add_now(struct histogram *sum, const struct histogram *from)
{
	for (size_t i = 0; i < HISTOGRAM_POWERS; i++) {
		const struct histogram_power *const p = from->powers[i];
		struct histogram_power *const q =
		    p == NULL ? NULL : histogram_get_power(sum, i);

		for (size_t k = 0; q != NULL && k < HISTOGRAM_BUCKETS; k++) {
			q->now[k] += p->now[k];
			sum->count_now += p->now[k];
		}
	}
	sum->max_now = greater(sum->max_now, from->max_now);
}

void histogram_add(struct histogram *sum, const struct histogram *from)
{
	histogram_add_now(sum, from);
	for (size_t i = 0; i < HISTOGRAM_POWERS; i++) {
		const struct histogram_power *const p = from->powers[i];
		struct histogram_power *const q =
		    p == NULL ? NULL : histogram_get_power(sum, i);

		for (size_t k = 0; q != NULL && k < HISTOGRAM_BUCKETS; k++) {
			q->all[k] += p->all[k];
			sum->count_all += p->all[k];
		}
	}
	sum->max_all = greater(sum->max_all, from->max_all);
}

/* How often bucket k of a power came: in this period, or in all. */
static uint64_t times(const struct histogram_power *p, size_t k, bool all)
{
	return p->now[k] + (all ? p->all[k] : 0);
}

/* Fill out->at; count and max are set. (nearest rank) */
static void find_ranks(const struct histogram *h, bool all,
    struct histogram_summary *out)
{
	uint64_t seen = 0;
	unsigned rank = 0;

	for (size_t b = 0; b <= LAST && rank < HISTOGRAM_RANKS; b++) {
		const struct histogram_power *const p =
		    h->powers[b / HISTOGRAM_BUCKETS];

		if (p == NULL)
			continue;
		seen += times(p, b % HISTOGRAM_BUCKETS, all);
		while (rank < HISTOGRAM_RANKS && seen > 0 &&
		    (unsigned __int128)seen * 1000 >=
		    (unsigned __int128)out->count * histogram_rank(rank)) {
			const uint64_t value = histogram_value(b);

			out->at[rank++] = value < out->max ? value : out->max;
		}
	}
}

void histogram_summary_add(struct histogram_summary *sum,
    const struct histogram_summary *from)
{
	sum->count += from->count;
	sum->max = greater(sum->max, from->max);
	for (size_t i = 0; i < HISTOGRAM_RANKS; i++)
		sum->at[i] = greater(sum->at[i], from->at[i]);
}

void histogram_end_period(struct histogram *h)
{
	h->last = (struct histogram_summary){
		.count = h->count_now, .max = h->max_now };
	find_ranks(h, false, &h->last);
	for (size_t i = 0; i < HISTOGRAM_POWERS; i++) {
		struct histogram_power *const p = h->powers[i];

		for (size_t k = 0; p != NULL && k < HISTOGRAM_BUCKETS; k++)
			p->all[k] += p->now[k];
	}
	h->count_all += h->count_now;
	h->max_all = greater(h->max_all, h->max_now);
	histogram_clear_now(h);
}

bool histogram_is_still(const struct histogram *h)
{
	return h->count_now == 0 && h->last.count == 0;
}

void histogram_summarize(const struct histogram *h,
    struct histogram_summary *out)
{
	*out = (struct histogram_summary){
		.count = h->count_all + h->count_now,
		.max = greater(h->max_all, h->max_now) };
	find_ranks(h, true, out);
}
