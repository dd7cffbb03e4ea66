/* leave.h - wait for the end of the process at the other end.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_LEAVE_H
#define CTL_LEAVE_H

#include <stdbool.h>

struct err;
struct leave;
struct link;

/* Note the process at l, before it is told to end. NULL with e. */
struct leave *leave_new(struct link *l, struct err *e);

/*
 * Wait, with progress on a terminal. alone: without being a client of the
 * pooler, as that would keep it from ending.
 */
void leave_wait(struct leave *w, bool alone);

void leave_free(struct leave **w);

#endif
