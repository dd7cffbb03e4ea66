/* watch.h - a thread whose loop does not turn, or turns slowly, is noticed.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WATCH_H
#define APP_WATCH_H

#include <stdbool.h>

struct app;

/*
 * Looks without a sign of life in between: five seconds of the janitor's. Looks
 * are counted, not time: a process that was stopped has lost time alone.
 */
#define WATCH_LOOKS 50

/* Of one thread; all zero at first. */
struct watch {
	unsigned seen;		/* the signs of life, at the last look */
	unsigned missed;	/* looks since there was a new one */
};

enum watch_news {
	WATCH_NONE,
	WATCH_HANGS,		/* from now on */
	WATCH_IS_BACK,
};

/* Look now and then: signs is a count that only a loop that turns moves on. */
enum watch_news watch_look(struct watch *w, unsigned signs);

/* It does, as somebody has found out who waited for it. */
void watch_give_up(struct watch *w, unsigned signs);

static inline bool watch_hangs(const struct watch *w)
{
	return w->missed >= WATCH_LOOKS;
}

/* Reports turns of the loop that take long. */

/* Start to watch the loop. A later call puts a changed slow_turn in force. */
void slow_turn_watch(struct app *app);

#endif
