/* view_stats.c - SHOW STATS and those like it, TOTALS, LATENCIES.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "console/admin.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "pool/catalog.h"
#include "pool/latencies.h"

#define NUMBER(name, from) { name, COL_NUMERIC, SHAPE_##from },

/* All but TOTALS have a row a database. */
#define STATS_ITEM .spread = VIEW_FIRST, .over = VIEW_DATABASES, \
	.item = stats_row

static const struct column stats_columns[] = {
	{ "database", COL_TEXT, SHAPE_PLAIN },
#define COUNTER(name, from, total, ...) NUMBER(total, from)
#include "pool/counters.def"
#undef COUNTER
#define COUNTER(name, from, total, average, ...) NUMBER(average, from)
#include "pool/counters.def"
#undef COUNTER
};

static const struct column stats_totals_columns[] = {
	{ "database", COL_TEXT, SHAPE_PLAIN },
#define COUNTER(name, from, total, average, sum, ...) NUMBER(sum, from)
#include "pool/counters.def"
#undef COUNTER
};

static const struct column stats_averages_columns[] = {
	{ "database", COL_TEXT, SHAPE_PLAIN },
#define COUNTER(name, from, total, average, sum, mean, flat) \
	NUMBER(mean, from)
#include "pool/counters.def"
#undef COUNTER
};

static const struct column totals_columns[] = {
	{ "name", COL_TEXT, SHAPE_PLAIN },
	{ "value", COL_NUMERIC, SHAPE_PLAIN },
};

/* Rows of TOTALS, behind total_ and avg_. */
static const struct {
	const char *name;
	enum column_shape shape;
} totals_names[] = {
#define COUNTER(name, from, total, average, sum, mean, flat) \
	{ flat, SHAPE_##from },
#include "pool/counters.def"
#undef COUNTER
};

/* Which parts of the sums a view shows. */
enum { STATS_TOTALS = 1, STATS_AVERAGES = 2 };

/* Counters summed over pools. */
struct stats_sums {
	struct counters now, before;
};

static void sums_add(struct stats_sums *sums, const struct pool *p)
{
	counters_add(&sums->now, &p->counted.now);
	counters_add(&sums->before, &p->counted.before);
}

static void sums_add_all(struct stats_sums *sums, struct catalog *c)
{
	averages_settle(&c->averages);
	for (const struct pool *p = c->pools; p != NULL; p = p->hh.next)
		sums_add(sums, p);
}

static void sums_average(const struct stats_sums *sums, const struct admin *a,
    struct counters *avg)
{
	counters_average(avg, &sums->now, &sums->before,
	    time_now() - a->ss->catalog->averages.since_before);
}

/* Append a cell for each counter; returns the next free place. */
static size_t add_counters(struct cell *cells, size_t at,
    const struct counters *c)
{
	uint64_t values[COUNTERS];

	memcpy(values, c, sizeof values);
	for (size_t i = 0; i < COUNTERS; i++)
		cells[at++] = cell_number((int64_t)values[i]);
	return at;
}

static int stats_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct database *const db = item;
	struct cell cells[1 + 2 * COUNTERS] = { cell_text(db->name) };
	struct stats_sums sums = { 0 };
	struct counters avg;
	size_t at = 1;

	if (db->pools == NULL)
		return 0;
	for (const struct pool *p = db->pools; p != NULL; p = p->db_next)
		sums_add(&sums, p);
	sums_average(&sums, a, &avg);
	if (v->variant & STATS_TOTALS)
		at = add_counters(cells, at, &sums.now);
	if (v->variant & STATS_AVERAGES)
		add_counters(cells, at, &avg);
	return sink->row(sink, cells);
}

static void stats_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct view_merge m;
	const struct database *db;

	for (const struct admin *w = a; w != NULL; w = w->next)
		averages_settle(&w->ss->catalog->averages);
	view_merge_begin(&m, a, MERGE_DATABASES);
	while ((db = view_merge_take(&m)) != NULL) {
		if (stats_row(m.a, v, db, sink) != 0)
			break;
	}
	view_merge_end(&m);
}

static void totals_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct cell values[2 * COUNTERS];
	struct stats_sums sums = { 0 };
	struct counters avg;

	(void)v;
	for (const struct admin *w = a; w != NULL; w = w->next)
		sums_add_all(&sums, w->ss->catalog);
	/* workers begin their periods together, but for one tick */
	sums_average(&sums, a, &avg);
	add_counters(values, add_counters(values, 0, &sums.now), &avg);

	for (size_t i = 0; i < VIEW_COUNT(values); i++) {
		char name[64];

		if (totals_names[i % COUNTERS].shape >
		    column_plain(sessions_settings(a->ss)->console_version))
			continue;
		snprintf(name, sizeof name, "%s_%s", i < COUNTERS ? "total" :
		    "avg", totals_names[i % COUNTERS].name);
		const struct cell row[] = { cell_text(name), values[i] };

		if (sink->row(sink, row) != 0)
			return;
	}
}

struct view_group view_group_stats(void)
{
	static const struct view views[] = {
		{ .topic = "STATS", VIEW_COLUMNS(stats_columns),
		    .rows = stats_rows, STATS_ITEM,
		    .variant = STATS_TOTALS | STATS_AVERAGES },
		{ .topic = "STATS_TOTALS", VIEW_COLUMNS(stats_totals_columns),
		    .rows = stats_rows, STATS_ITEM,
		    .variant = STATS_TOTALS },
		{ .topic = "STATS_AVERAGES",
		    VIEW_COLUMNS(stats_averages_columns),
		    .rows = stats_rows, STATS_ITEM,
		    .variant = STATS_AVERAGES },
		{ .topic = "TOTALS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(totals_columns),
		    .rows = totals_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}

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
static void view_stats_add_past(struct histogram *sum, const struct catalog *c,
    enum latency what)
{
	const struct histogram *const all = &c->averages.latencies.of[what];

	histogram_add(sum, all);
	histogram_summary_add(&sum->last, &all->last);
}

static void add_catalog(struct histogram *sum, const struct catalog *c,
    enum latency what)
{
	view_stats_add_past(sum, c, what);
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
		view_stats_add_past(&sum, a->ss->catalog, what);
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

static void view_stats_settle(struct catalog *c)
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
		view_stats_settle(w->ss->catalog);
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
