/* janitor.h - time-outs and upkeep, a few times a second, and the end of each
 * stats_period.
 * SPDX-License-Identifier: ISC */
#ifndef APP_JANITOR_H
#define APP_JANITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/time.h"
#include "io/loop.h"

struct app;

#define JANITOR_INTERVAL (USEC / 10)

/* How far it is with what is to be done in a tick. */
struct janitor {
	struct loop_task task;
	size_t round;			/* of those in janitor.c */
	int calls;			/* of this one */
	usec_t ticked;
	pid_t dead;		/* a child for which nobody has waited; 0: none */
	usec_t dead_since;	/* when it was first seen */
};

/* Set up the time-out lists of app->ss and start ticking. 0 or -1. */
int janitor_start(struct app *app);

/* The end of each stats_period: snapshots and the stats: line. */

/* Begin to count at now. */
void period_start(struct app *app, usec_t now);
/* Has a period ended? Then note it. */
void period_begin(struct app *app, usec_t now);
/* Count some pools of it, and log when these were the last. Are some left? */
bool period_go_on(struct app *app);

#endif
