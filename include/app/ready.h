/* ready.h - the start is over: whom to tell, and the pid file.
 * SPDX-License-Identifier: ISC */
#ifndef APP_READY_H
#define APP_READY_H

struct app;

/* Of one that has taken over: what can't be written is an error, not the end. */
void ready_take_pidfile(struct app *app);
/* The log, the service manager, and the process that has started a daemon. */
void ready_tell(struct app *app);

#endif
