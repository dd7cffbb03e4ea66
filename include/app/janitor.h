/* janitor.h - time-outs and upkeep, a few times a second.
 * SPDX-License-Identifier: ISC */
#ifndef APP_JANITOR_H
#define APP_JANITOR_H

#include <stddef.h>

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
};

/* Set up the time-out lists of app->ss and start ticking. 0 or -1. */
int janitor_start(struct app *app);

#endif
