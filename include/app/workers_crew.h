/* workers_crew.h - threads that serve databases of their own: made, started
 * and ended.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WORKERS_CREW_H
#define APP_WORKERS_CREW_H

#include <stdbool.h>

struct app;
struct err;

/*
 * Make the others that the settings ask for, each an app of its own that hangs
 * off this one; with one worker there are none. 0, or -1 with e.
 */
int crew_make(struct app *app, struct err *e);
/* Threads for the others, which wait. 0, or -1 with e. */
int crew_start(struct app *app, struct err *e);
/*
 * Each goes to its CPU, after log_thread_start(); the others begin to serve.
 * From here on touch what is theirs in a hold.
 */
void crew_go(struct app *app);
/* The workers have stopped, and are taken apart. False: one does not stop. */
bool crew_end(struct app *app);

#endif
