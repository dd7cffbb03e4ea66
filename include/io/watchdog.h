/* watchdog.h - a thread that notices turns of a loop that last too long.
 * SPDX-License-Identifier: ISC */
#ifndef IO_WATCHDOG_H
#define IO_WATCHDOG_H

#include "base/time.h"

struct loop;
struct watchdog;

/* NULL: out of memory, or no thread. l reports through loop_on_long(). */
struct watchdog *watchdog_new(struct loop *l, usec_t limit);
/* Put another limit in force; 0: no turn is too long. */
void watchdog_set(struct watchdog *w, usec_t limit);
/* Must be called before the loop is freed. */
void watchdog_free(struct watchdog **w);

#endif
