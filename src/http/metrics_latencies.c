/* metrics_latencies.c - percentiles, as SHOW LATENCIES has them.
 *
 * A summary's quantiles are of the last stats_period, as those of Prometheus'
 * own libraries are of the last minutes; its count is since the start.
 * SPDX-License-Identifier: ISC */
#include "http/metrics_parts.h"

static const char *const quantiles[HISTOGRAM_RANKS] = {
	"0.5", "0.9", "0.95", "0.99", "0.999" };

enum { QUANTILES, GREATEST };

/* labels has room for one more. */
static void put_quantiles(struct metrics *m, struct label *labels, size_t n,
    const struct histogram *h)
{
	const struct histogram_summary *const last = &h->last;
	struct histogram_summary all;

	for (size_t i = 0; i < HISTOGRAM_RANKS; i++) {
		labels[n] = (struct label){ "quantile", quantiles[i] };
		exposition_put(&m->x, &(struct sample){
			.labels = labels, .label_count = n + 1,
			.value = (int64_t)last->at[i], .micro = true,
			.none = last->count == 0,
		});
	}
	histogram_summarize(h, &all);
	exposition_put(&m->x, &(struct sample){
		.labels = labels, .label_count = n, .suffix = "_count",
		.value = (int64_t)all.count });
}

static void put_greatest(struct metrics *m, const struct label *labels,
    size_t n, const struct histogram *h)
{
	exposition_put(&m->x, &(struct sample){
		.labels = labels, .label_count = n,
		.value = (int64_t)h->last.max, .micro = true });
}

static bool is_empty(const struct histogram *h)
{
	return h->count_all + h->count_now == 0;
}

static void put_pool(struct metrics *m, const struct family *f,
    const void *item)
{
	/* counts that the hot path left out are to be added */
	struct pool *const p = (struct pool *)(uintptr_t)item;

	latencies_settle(p);
	for (int i = 0; p->latencies != NULL && i < LATENCIES; i++) {
		const struct histogram *const h = &p->latencies->of[i];
		struct label labels[4] = { METRICS_POOL_LABELS(p),
			{ "latency", latency_name((enum latency)i) } };

		if (is_empty(h))
			continue;
		if (f->what == QUANTILES)
			put_quantiles(m, labels, 3, h);
		else
			put_greatest(m, labels, 3, h);
	}
}

/* Add the pool's latencies of this period to the sum. */
static void add_pool(struct metrics *m, const struct family *f,
    const void *item)
{
	struct pool *const p = (struct pool *)(uintptr_t)item;

	(void)f;
	latencies_settle(p);
	for (int i = 0; p->latencies != NULL && i < LATENCIES; i++)
		histogram_add_now(&m->sums[i], &p->latencies->of[i]);
}

/* What was before this period. */
static void add_past(struct histogram *sum, const struct histogram *h)
{
	histogram_add(sum, h);
	histogram_summary_add(&sum->last, &h->last);
}

static void put_sums(struct metrics *m, const struct family *f)
{
	(void)f;
	for (int i = 0; i < LATENCIES; i++) {
		struct histogram *const h = &m->sums[i];
		struct label labels[2] = {
			{ "latency", latency_name((enum latency)i) } };

		for (const struct admin *a = m->first; a != NULL; a = a->next)
			add_past(h, &a->ss->catalog->averages.latencies.of[i]);
		if (!is_empty(h))
			put_quantiles(m, labels, 1, h);
	}
}

struct family_group metrics_latencies(void)
{
	static const struct family families[] = {
		{ { "pgsluice_latency_seconds", METRIC_SUMMARY, "seconds",
		    "What took how long in all pools, in the last period." },
		    OVER_POOLS, QUANTILES, add_pool, put_sums },
		{ { "pgsluice_pool_latency_seconds", METRIC_SUMMARY, "seconds",
		    "What took how long in a pool, in the last period." },
		    OVER_POOLS, QUANTILES, put_pool, NULL },
		{ { "pgsluice_pool_latency_max_seconds", METRIC_GAUGE,
		    "seconds", "The longest of them." },
		    OVER_POOLS, GREATEST, put_pool, NULL },
	};

	return FAMILY_GROUP(families, false);
}
