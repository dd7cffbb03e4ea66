/* signals.h - what the process does when it is sent a signal.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

struct app;

/* 0, or -1: no memory. */
int signals_start(struct app *app);

#endif
