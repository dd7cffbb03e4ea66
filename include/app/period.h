/* period.h - the end of each stats_period: snapshots and the stats: line.
 * SPDX-License-Identifier: ISC */
#ifndef APP_PERIOD_H
#define APP_PERIOD_H

#include "base/time.h"

struct app;

/* Begin to count at now. */
void period_start(struct app *app, usec_t now);
/* Has a period ended? Then note it, and log. */
void period_tick(struct app *app, usec_t now);

#endif
