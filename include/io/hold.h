/* hold.h - one thread stops the loops of others, and has all that is theirs.
 * SPDX-License-Identifier: ISC */
#ifndef IO_HOLD_H
#define IO_HOLD_H

#include <stdbool.h>

#include "base/time.h"

struct hold;
struct loop;

/* NULL: no memory. */
struct hold *hold_new(void);
/* Nobody is held, and no loop runs any more. */
void hold_free(struct hold **h);

/* The loop, which may not run yet, can be stopped. 0, or -1: no memory, no fd. */
int hold_join(struct hold *h, struct loop *l);

/*
 * From one thread, of none of these loops: each of them stands still between two
 * of its callbacks, until hold_release(), and what is theirs may be used as if
 * it were ours. Holds within holds count as one. False: one of them does not
 * come within limit, and nobody is held.
 */
bool hold_take(struct hold *h, usec_t limit);
void hold_release(struct hold *h);
/* After a hold that failed: which loop did not come; the first to join is 1. */
unsigned hold_missing(const struct hold *h);

#endif
