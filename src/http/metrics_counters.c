/* metrics_counters.c - counters of the process, as SHOW COUNTERS.
 * SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "http/metrics_parts.h"
#include "pool/tally.h"

static int put(void *arg, const struct tally_count *n)
{
	struct metrics *const m = arg;
	const struct label labels[] = {
		{ n->labels[0].name, n->labels[0].value },
		{ n->labels[1].name, n->labels[1].value },
	};

	/* a server that makes up codes does not make the rest be cut */
	if (m->x.t->size - m->x.t->len < EXPOSITION_SAMPLE_BYTES)
		return -1;
	metrics_put(m, labels, n->label_count, (int64_t)n->value);
	return 0;
}

static void put_table(struct metrics *m, const struct family *f,
    const void *item)
{
	struct tally sum = { .errors = { { 0 } } };

	(void)item;
	for (const struct admin *a = m->first; a != NULL; a = a->next)
		tally_add(&sum, &a->ss->tally);
	(void)tally_each(&sum, (enum tally_table)f->what, put, m);
}

struct family_group metrics_counters(void)
{
	static const struct family families[] = {
#define TALLY(n, r, c, rk, ck, a, h) \
		{ { "pgsluice_" #n, METRIC_COUNTER, NULL, h }, \
		    .what = TALLY_TABLE_##n, .put = put_table },
#include "pool/tally.def"
#undef TALLY
	};

	return FAMILY_GROUP(families, false);
}
