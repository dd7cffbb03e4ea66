/* period.c - the end of each stats_period: snapshots and the stats: line.
 * SPDX-License-Identifier: ISC */
#include "app/period.h"

#include <inttypes.h>

#include "app/app.h"
#include "base/log.h"

void period_start(struct app *app, usec_t now)
{
	app->stats_since = app->stats_before = now;
}

/* (logging.md section 10) */
static void log_stats(const struct counters *avg)
{
	log_info("stats: %" PRIu64 " xacts/s, %" PRIu64 " queries/s, "
	    "%" PRIu64 " client parses/s, %" PRIu64 " server parses/s, "
	    "%" PRIu64 " binds/s, %" PRIu64 " client logins/s, "
	    "in %" PRIu64 " B/s, out %" PRIu64 " B/s, xact %" PRIu64 " us, "
	    "query %" PRIu64 " us, wait %" PRIu64 " us",
	    avg->xact_count, avg->query_count, avg->client_parse_count,
	    avg->server_parse_count, avg->bind_count,
	    avg->client_login_count, avg->received, avg->sent,
	    avg->xact_time, avg->query_time, avg->wait_time);
}

void period_tick(struct app *app, usec_t now)
{
	struct counters last = { 0 }, before = { 0 }, avg;
	struct pool *p, *next;

	if (now - app->stats_since < app->config->set.stats_period * USEC)
		return;
	app->stats_before = app->stats_since;
	app->stats_since = now;
	HASH_ITER(hh, app->catalog->pools, p, next) {
		counted_snapshot(&p->counted);
		counters_add(&last, &p->counted.last);
		counters_add(&before, &p->counted.before);
	}
	if (!app->config->set.log_stats)
		return;
	counters_average(&avg, &last, &before,
	    app->stats_since - app->stats_before);
	log_stats(&avg);
}
