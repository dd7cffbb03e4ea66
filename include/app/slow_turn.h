/* slow_turn.h - reports turns of the loop that take long.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SLOW_TURN_H
#define APP_SLOW_TURN_H

struct app;

/* Start to watch the loop. A later call puts a changed slow_turn in force. */
void slow_turn_watch(struct app *app);

#endif
