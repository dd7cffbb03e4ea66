/* signals.h - what the process does when it is sent a signal.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

struct app;

/*
 * Before there is a loop: one that asks for the end ends us at once, with
 * status 0, as there is nothing yet to take apart. Others wait for the loop.
 */
void signals_early(void);
/* 0, or -1: no memory. */
int signals_start(struct app *app);
/* The loop is left, and its handlers with it: none counts any more. */
void signals_late(void);
/* They mean to this process, a child, what they mean to any. */
void signals_forget(void);

#endif
