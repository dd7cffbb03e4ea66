/* slow_turn.h - who has kept everybody waiting?
 * SPDX-License-Identifier: ISC */
#ifndef APP_SLOW_TURN_H
#define APP_SLOW_TURN_H

struct app;

/* The loop is there: look at its turns. Again: slow_turn has changed. */
void slow_turn_watch(struct app *app);

#endif
