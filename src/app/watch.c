/* watch.c - a thread whose loop does not turn, or turns slowly, is noticed.
 * SPDX-License-Identifier: ISC */
#include "app/watch.h"

#include "app/app.h"
#include "base/log.h"
#include "base/text.h"
#include "io/loop.h"
#include "io/stream.h"
#include "io/watchdog.h"

enum watch_news watch_look(struct watch *w, unsigned signs)
{
	const bool hung = watch_hangs(w);

	if (signs != w->seen) {
		*w = (struct watch){ .seen = signs };
		return hung ? WATCH_IS_BACK : WATCH_NONE;
	}
	if (hung)
		return WATCH_NONE;
	w->missed++;
	return watch_hangs(w) ? WATCH_HANGS : WATCH_NONE;
}

void watch_give_up(struct watch *w, unsigned signs)
{
	*w = (struct watch){ .seen = signs, .missed = WATCH_LOOKS };
}

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
