/* suspend.h - SUSPEND: everything stands still until RESUME.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SUSPEND_H
#define APP_SUSPEND_H

#include <stdbool.h>

struct app;
struct err;

/* (spec/admin-console.md section 4.8) In a hold. 0, or -1 with e: not now. */
int suspend_begin(struct app *app, struct err *e);
/* After each turn: stop what can stop by now; resume if nobody is left. */
void suspend_turn(struct app *app);
/* A client has come to this worker: it may have to be stopped. */
void suspend_note_arrival(struct app *app);
/* In a hold: does nothing move any more? */
bool suspend_is_complete(const struct app *app);
void suspend_end(struct app *app);

#endif
