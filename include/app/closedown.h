/* closedown.h - the end of the process, where it waits for others.
 * SPDX-License-Identifier: ISC */
#ifndef APP_CLOSEDOWN_H
#define APP_CLOSEDOWN_H

#include <stdbool.h>

#include "base/time.h"

struct app;

/*
 * SHUTDOWN DRAIN: all clients have to go in this time, after shutdown_grace.
 * Where one is under way, or another shutdown, the sooner end counts.
 */
void closedown_drain(struct app *app, usec_t time);
/* From the janitor, unless all stands still. Is it time to exit? */
bool closedown_tick(struct app *app, usec_t now);
/* After each turn: tell clients to go that may, between two transactions. */
void closedown_turn(struct app *app);

#endif
