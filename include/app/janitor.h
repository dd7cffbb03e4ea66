/* janitor.h - time-outs and upkeep, a few times a second.
 * SPDX-License-Identifier: ISC */
#ifndef APP_JANITOR_H
#define APP_JANITOR_H

#include "base/time.h"

struct app;

#define JANITOR_INTERVAL (USEC / 10)

/* Set up the time-out lists of app->ss and start ticking. 0 or -1. */
int janitor_start(struct app *app);

#endif
