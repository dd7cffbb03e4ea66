/* signals.h - signals to the process, and its answers.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

struct app;

/* 0, or -1: no memory. */
int signals_start(struct app *app);

#endif
