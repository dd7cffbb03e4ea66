/* view_stats.c - SHOW STATS, STATS_TOTALS, STATS_AVERAGES, TOTALS.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "app/app.h"
#include "app/views.h"
#include "pool/catalog.h"

static const struct column stats_columns[] = {
	COLUMN_T("database"),
	COLUMN_N("total_server_assignment_count"),
	COLUMN_N("total_xact_count"),
	COLUMN_N("total_query_count"),
	COLUMN_N("total_received"),
	COLUMN_N("total_sent"),
	COLUMN_N("total_xact_time"),
	COLUMN_N("total_query_time"),
	COLUMN_N("total_wait_time"),
	COLUMN_N("total_client_parse_count"),
	COLUMN_N("total_server_parse_count"),
	COLUMN_N("total_bind_count"),
	COLUMN_N("total_client_login_count"),
	COLUMN_N("avg_server_assignment_count"),
	COLUMN_N("avg_xact_count"),
	COLUMN_N("avg_query_count"),
	COLUMN_N("avg_recv"),
	COLUMN_N("avg_sent"),
	COLUMN_N("avg_xact_time"),
	COLUMN_N("avg_query_time"),
	COLUMN_N("avg_wait_time"),
	COLUMN_N("avg_client_parse_count"),
	COLUMN_N("avg_server_parse_count"),
	COLUMN_N("avg_bind_count"),
	COLUMN_N("avg_client_login_count"),
};

static const struct column stats_totals_columns[] = {
	COLUMN_T("database"),
	COLUMN_N("server_assignment_count"),
	COLUMN_N("xact_count"),
	COLUMN_N("query_count"),
	COLUMN_N("bytes_received"),
	COLUMN_N("bytes_sent"),
	COLUMN_N("xact_time"),
	COLUMN_N("query_time"),
	COLUMN_N("wait_time"),
	COLUMN_N("client_parse_count"),
	COLUMN_N("server_parse_count"),
	COLUMN_N("bind_count"),
	COLUMN_N("client_login_count"),
};

/* The names are irregular; tools know them (admin-console.md 5.7). */
static const struct column stats_averages_columns[] = {
	COLUMN_T("database"),
	COLUMN_N("server_assignment_count"),
	COLUMN_N("xact_count"),
	COLUMN_N("query_count"),
	COLUMN_N("bytes_received"),
	COLUMN_N("bytes_sent"),
	COLUMN_N("xact_time"),
	COLUMN_N("query_time"),
	COLUMN_N("wait_time"),
	COLUMN_N("avg_client_parse_count"),
	COLUMN_N("avg_server_parse_count"),
	COLUMN_N("avg_bind_count"),
	COLUMN_N("avg_client_login_count"),
};

static const struct column totals_columns[] = {
	COLUMN_T("name"),
	COLUMN_N("value"),
};

/* What TOTALS calls the counters, behind total_ and avg_. */
static const char *const totals_names[] = {
	"server_assignment_count",
	"xact_count",
	"query_count",
	"client_bytes",
	"server_bytes",
	"xact_time",
	"query_time",
	"wait_time",
	"ps_client_parse_count",
	"ps_server_parse_count",
	"ps_bind_count",
	"client_login_count",
};

static_assert(VIEW_COUNT(stats_columns) == 1 + 2 * COUNTERS,
    "a column for each counter and its average");
static_assert(VIEW_COUNT(stats_totals_columns) == 1 + COUNTERS,
    "a column for each counter");
static_assert(VIEW_COUNT(stats_averages_columns) == 1 + COUNTERS,
    "a column for each average");
static_assert(VIEW_COUNT(totals_names) == COUNTERS,
    "a name for each counter");

/* Which parts of the sums a view shows. */
enum { STATS_TOTALS = 1, STATS_AVERAGES = 2 };

/* Counters summed over pools. */
struct sums {
	struct counters now, before;
};

static void sums_add(struct sums *sums, const struct pool *p)
{
	counters_add(&sums->now, &p->counted.now);
	counters_add(&sums->before, &p->counted.before);
}

static void sums_average(const struct sums *sums, const struct app *app,
    struct counters *avg)
{
	counters_average(avg, &sums->now, &sums->before,
	    time_now() - app->stats_before);
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

static void stats_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	catalog_sort(app->catalog);
	census_settle(&app->catalog->census);
	for (const struct database *db = app->catalog->databases; db != NULL;
	    db = db->hh.next) {
		struct cell cells[1 + 2 * COUNTERS] = { cell_text(db->name) };
		struct sums sums = { 0 };
		struct counters avg;
		size_t at = 1;

		if (db->pools == NULL)
			continue;
		for (const struct pool *p = db->pools; p != NULL;
		    p = p->db_next)
			sums_add(&sums, p);
		sums_average(&sums, app, &avg);
		if (v->variant & STATS_TOTALS)
			at = add_counters(cells, at, &sums.now);
		if (v->variant & STATS_AVERAGES)
			add_counters(cells, at, &avg);
		if (sink->row(sink, cells) != 0)
			return;
	}
}

static void totals_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	struct cell values[2 * COUNTERS];
	struct sums sums = { 0 };
	struct counters avg;

	(void)v;
	census_settle(&app->catalog->census);
	for (const struct pool *p = app->catalog->pools; p != NULL;
	    p = p->hh.next)
		sums_add(&sums, p);
	sums_average(&sums, app, &avg);
	add_counters(values, add_counters(values, 0, &sums.now), &avg);

	for (size_t i = 0; i < VIEW_COUNT(values); i++) {
		char name[64];

		snprintf(name, sizeof name, "%s_%s",
		    i < COUNTERS ? "total" : "avg", totals_names[i % COUNTERS]);
		const struct cell row[] = { cell_text(name), values[i] };

		if (sink->row(sink, row) != 0)
			return;
	}
}

struct view_group view_group_stats(void)
{
	static const struct view views[] = {
		{ .topic = "STATS", VIEW_COLUMNS(stats_columns),
		    .rows = stats_rows,
		    .variant = STATS_TOTALS | STATS_AVERAGES },
		{ .topic = "STATS_TOTALS", VIEW_COLUMNS(stats_totals_columns),
		    .rows = stats_rows, .variant = STATS_TOTALS },
		{ .topic = "STATS_AVERAGES",
		    VIEW_COLUMNS(stats_averages_columns),
		    .rows = stats_rows, .variant = STATS_AVERAGES },
		{ .topic = "TOTALS", VIEW_COLUMNS(totals_columns),
		    .rows = totals_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
