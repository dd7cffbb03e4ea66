/* restless.h - for tests: each client moves after each of its transactions.
 * SPDX-License-Identifier: ISC */
#ifndef APP_RESTLESS_H
#define APP_RESTLESS_H

struct app;

/* At the end of a turn: whoever may goes to the next worker. */
void restless_turn(struct app *app);

#endif
