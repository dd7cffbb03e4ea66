/* set.h - SET, SET PERSIST: settings of the configuration in force change.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SET_H
#define APP_SET_H

#include <stdbool.h>

struct app;
struct err;
struct persist_entry;

/*
 * Put the changed setting in force: the console's SET. 0, or -1 with e. With 0
 * e holds a notice for the console, or an empty text.
 */
int set_now(struct app *app, const char *key, const char *value,
    struct err *e);
/* Could that be put in force, alone? 0, or -1 with e. */
int set_try(const struct app *app, const char *key, const char *value,
    struct err *e);

/* SET PERSIST: a setting that the next start has as well. */

/*
 * As set_now(), and write the setting down for the next reload and start, when
 * all that they read has been tried with it. Returns the number that
 * admin_persisted() will name, or 0 with e.
 */
unsigned set_persist(struct app *app, const struct persist_entry *entry,
    struct err *e);
/* After a turn: has the first been tried, or written? Then go on with it. */
bool set_persist_is_due(const struct app *app);
void set_persist_turn(struct app *app);
void set_persist_fini(struct app *app);

#endif
