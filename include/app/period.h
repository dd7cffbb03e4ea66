/* period.h - the end of each stats_period: snapshots and the stats: line.
 * SPDX-License-Identifier: ISC */
#ifndef APP_PERIOD_H
#define APP_PERIOD_H

#include <stdbool.h>

#include "base/time.h"

struct app;

/* Begin to count at now. */
void period_start(struct app *app, usec_t now);
/* Has a period ended? Then note it. */
void period_begin(struct app *app, usec_t now);
/* Count some pools of it, and log when these were the last. Are some left? */
bool period_go_on(struct app *app);

#endif
