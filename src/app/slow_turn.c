/* slow_turn.c - reports turns of the loop that take long.
 * SPDX-License-Identifier: ISC */
#include "app/slow_turn.h"

#include "app/app.h"
#include "base/log.h"
#include "base/text.h"
#include "io/loop.h"
#include "io/stream.h"
#include "io/watchdog.h"

#define QUIET (10 * USEC)	/* between two lines of the log */

static void on_long(void *arg, const struct loop_long *turn)
{
	struct app *const app = arg;
	struct admin_slow *const slow = &app->admin.slow;
	struct text by;

	text_init(&by, slow->by, sizeof slow->by);
	if (turn->at == NULL || !stream_describe(turn->at, &by))
		text_add(&by, turn->at == NULL ?
		    "upkeep, or a connection that is closed now" :
		    "a socket of our own");
	slow->count++;
	slow->took = turn->took;
	if (turn->took > slow->longest)
		slow->longest = turn->took;
	if (slow->told_at != 0 && time_now() - slow->told_at < QUIET)
		return;
	log_warning("a turn of the loop has lasted %lld ms (slow_turn), at: %s; "
	    "%llu since the last such line",
	    (long long)(turn->took / 1000), slow->by,
	    (unsigned long long)(slow->count - slow->told));
	slow->told_at = time_now();
	slow->told = slow->count;
}

void slow_turn_watch(struct app *app)
{
	const usec_t limit = app->config->set.slow_turn;

	if (app->watchdog != NULL) {
		watchdog_set(app->watchdog, limit);
	} else if (limit > 0) {
		loop_on_long(app->loop, on_long, app);
		app->watchdog = watchdog_new(app->loop, limit);
	}
}
