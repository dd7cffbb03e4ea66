/* watchdog.h - a thread that notices turns of a loop that last too long.
 * SPDX-License-Identifier: ISC */
#ifndef IO_WATCHDOG_H
#define IO_WATCHDOG_H

#include "base/time.h"

struct loop;
struct watchdog;

/* NULL: there can be none. l tells by loop_on_long(). */
struct watchdog *watchdog_new(struct loop *l, usec_t limit);
/* Another limit from now on; 0: none is too long. */
void watchdog_set(struct watchdog *w, usec_t limit);
/* Before its loop is freed. */
void watchdog_free(struct watchdog **w);

#endif
