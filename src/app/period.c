/* period.c - the end of each stats_period: snapshots and the stats: line.
 * SPDX-License-Identifier: ISC */
#include "app/period.h"

#include <inttypes.h>

#include "app/app.h"
#include "app/notify.h"
#include "app/workers.h"
#include "base/log.h"
#include "base/text.h"
#include "io/loop.h"

#define AT_ONCE 16	/* pools, each with its histograms */

void period_start(struct app *app, usec_t now)
{
	struct averages *const c = &app->catalog->averages;

	c->since = c->since_before = now;
}

/* (spec/logging.md section 10) us: how a microsecond is written. */
static void write_stats(struct text *out, const struct counters *avg,
    enum console_version version, const char *us)
{
	text_addf(out, "stats: %" PRIu64 " xacts/s, %" PRIu64 " queries/s, "
	    "%" PRIu64 " client parses/s, %" PRIu64 " server parses/s, "
	    "%" PRIu64 " binds/s, ", avg->xact_count, avg->query_count,
	    avg->client_parse_count, avg->server_parse_count, avg->bind_count);
	if (version >= CONSOLE_1_26)
		text_addf(out, "%" PRIu64 " client logins/s, ",
		    avg->client_login_count);
	text_addf(out, "in %" PRIu64 " B/s, out %" PRIu64 " B/s, "
	    "xact %" PRIu64 " %s, query %" PRIu64 " %s, wait %" PRIu64 " %s",
	    avg->received, avg->sent, avg->xact_time, us, avg->query_time, us,
	    avg->wait_time, us);
}

static void report(const struct app *app, const struct counters *avg)
{
	const enum console_version version = app->config->set.console_version;
	char buf[512];
	struct text t;

	text_init(&t, buf, sizeof buf);
	write_stats(&t, avg, version, "\316\274s");	/* micro sign */
	notify_status(buf);
	if (!app->config->set.log_stats)
		return;
	text_init(&t, buf, sizeof buf);
	write_stats(&t, avg, version, "us");
	log_info("%s", buf);
}

/* The others' are as old as a period at most: each ends its own. */
static void report_all(struct app *app)
{
	struct counters sum = app->average;

	if (app->first != NULL || !workers_hold(app))
		return;
	for (const struct app *w = workers_next(app); w != NULL;
	    w = workers_next(w))
		counters_add_average(&sum, &w->average);
	workers_let_go(app);
	report(app, &sum);
}

static void note_load(struct app *app, usec_t length)
{
	struct loop_load load;

	if (!loop_take_load(app->loop, &load) || length <= 0)
		return;
	/* a turn counts for the period that it ends in */
	const usec_t percent = (100 * load.busy + length / 2) / length;

	app->admin.load = (struct admin_load){
		.known = true,
		.percent = percent < 100 ? (unsigned)percent : 100,
		.longest = load.longest,
	};
}

void period_begin(struct app *app, usec_t now)
{
	struct averages *const c = &app->catalog->averages;

	if (now - c->since >= app->config->set.stats_period * USEC) {
		c->since_before = c->since;
		c->since = now;
		averages_begin(c);
		note_load(app, c->since - c->since_before);
	}
}

bool period_go_on(struct app *app)
{
	struct averages *const c = &app->catalog->averages;

	if (averages_go_on(c, AT_ONCE))
		return true;
	if (averages_close(c, c->since - c->since_before, &app->average))
		report_all(app);
	return false;
}
