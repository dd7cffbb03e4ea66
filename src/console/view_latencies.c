/* view_latencies.c - SHOW LATENCIES.
 * SPDX-License-Identifier: ISC */
#include "console/admin.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "pool/catalog.h"
#include "pool/latencies.h"

/* last: of the last period; all: since the start. Ranks: histogram_rank(). */
#define LATENCIES_VIEW(X) \
	X(TEXT, "database", PLAIN, cell_text(who->database)) \
	X(TEXT, "user", PLAIN, cell_text(who->user)) \
	X(TEXT, "latency", PLAIN, cell_text(who->latency)) \
	X(INT8, "count", PLAIN, cell_number((int64_t)last->count)) \
	X(INT8, "p50_us", PLAIN, cell_number((int64_t)last->at[0])) \
	X(INT8, "p90_us", PLAIN, cell_number((int64_t)last->at[1])) \
	X(INT8, "p95_us", PLAIN, cell_number((int64_t)last->at[2])) \
	X(INT8, "p99_us", PLAIN, cell_number((int64_t)last->at[3])) \
	X(INT8, "p999_us", PLAIN, cell_number((int64_t)last->at[4])) \
	X(INT8, "max_us", PLAIN, cell_number((int64_t)last->max)) \
	X(INT8, "total_count", PLAIN, cell_number((int64_t)all.count)) \
	X(INT8, "total_p50_us", PLAIN, cell_number((int64_t)all.at[0])) \
	X(INT8, "total_p90_us", PLAIN, cell_number((int64_t)all.at[1])) \
	X(INT8, "total_p95_us", PLAIN, cell_number((int64_t)all.at[2])) \
	X(INT8, "total_p99_us", PLAIN, cell_number((int64_t)all.at[3])) \
	X(INT8, "total_p999_us", PLAIN, cell_number((int64_t)all.at[4])) \
	X(INT8, "total_max_us", PLAIN, cell_number((int64_t)all.max))

static const struct column latencies_columns[] = {
	LATENCIES_VIEW(VIEW_COLUMN) };

/* What a row is of; database and user NULL: the sum of all pools. */
struct whose {
	const char *database, *user, *latency;
};

static int latency_row(const struct whose *who, const struct histogram *h,
    struct row_sink *sink)
{
	const struct histogram_summary *const last = &h->last;
	struct histogram_summary all;

	histogram_summarize(h, &all);
	return all.count == 0 ? 0 :
	    sink->row(sink, VIEW_ROW(LATENCIES_VIEW));
}

/* The averages have what was before this period, and of pools that are gone. */
static void add_past(struct histogram *sum, const struct catalog *c,
    enum latency what)
{
	const struct histogram *const all = &c->averages.latencies.of[what];

	histogram_add(sum, all);
	histogram_summary_add(&sum->last, &all->last);
}

static void add_catalog(struct histogram *sum, const struct catalog *c,
    enum latency what)
{
	add_past(sum, c, what);
	for (const struct pool *p = c->pools; p != NULL; p = p->hh.next) {
		if (p->latencies != NULL)
			histogram_add_now(sum, &p->latencies->of[what]);
	}
}

static int sum_row(const struct admin *a, enum latency what,
    struct row_sink *sink)
{
	const struct whose who = { .latency = latency_name(what) };
	struct histogram sum = { 0 };

	for (; a != NULL; a = a->next)
		add_catalog(&sum, a->ss->catalog, what);
	const int rc = latency_row(&who, &sum, sink);

	histogram_fini(&sum);
	return rc;
}

/* The same, without what this period has brought: that takes a look at all. */
static int past_row(const struct admin *a, enum latency what,
    struct row_sink *sink)
{
	const struct whose who = { .latency = latency_name(what) };
	struct histogram sum = { 0 };

	for (; a != NULL; a = a->next)
		add_past(&sum, a->ss->catalog, what);
	const int rc = latency_row(&who, &sum, sink);

	histogram_fini(&sum);
	return rc;
}

static int begin_rows(const struct admin *a, struct row_sink *sink)
{
	for (size_t i = 0; i < LATENCIES; i++) {
		if (past_row(a, (enum latency)i, sink) != 0)
			return -1;
	}
	return 0;
}

static int pool_rows(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	struct pool *const p = (void *)(uintptr_t)item;

	(void)a;
	(void)v;
	latencies_settle(p);
	for (size_t i = 0; p->latencies != NULL && i < LATENCIES; i++) {
		const struct whose who = {
			.database = p->key.db->name,
			.user = p->key.user->name,
			.latency = latency_name((enum latency)i),
		};

		if (latency_row(&who, &p->latencies->of[i], sink) != 0)
			return -1;
	}
	return 0;
}

static void settle(struct catalog *c)
{
	averages_settle(&c->averages);
	for (struct pool *p = c->pools; p != NULL; p = p->hh.next)
		latencies_settle(p);
}

static void latencies_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct view_merge m;
	const struct pool *p;

	for (const struct admin *w = a; w != NULL; w = w->next)
		settle(w->ss->catalog);
	for (size_t i = 0; i < LATENCIES; i++) {
		if (sum_row(a, (enum latency)i, sink) != 0)
			return;
	}
	view_merge_begin(&m, a, MERGE_WHOLE_POOLS);
	while ((p = view_merge_take(&m)) != NULL) {
		if (pool_rows(m.a, v, p, sink) != 0)
			break;
	}
	view_merge_end(&m);
}

struct view_group view_group_latencies(void)
{
	static const struct view views[] = {
		{ .topic = "LATENCIES", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(latencies_columns),
		    .rows = latencies_rows, .over = VIEW_POOLS,
		    .item = pool_rows, .begin = begin_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
