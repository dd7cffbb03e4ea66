/* reload.h - the files of the configuration, read again: all or nothing counts.
 * SPDX-License-Identifier: ISC */
#ifndef APP_RELOAD_H
#define APP_RELOAD_H

struct app;
struct load;

/*
 * Read the files again, and apply what they say: all, or nothing. The loop
 * goes on meanwhile. Returns the number of the reload that has the result: the
 * caller is told by admin_reloaded(), not from inside this call. A reload that
 * is under way may have read the file before it was changed: another one
 * follows then, one for all callers.
 */
unsigned reload_start(struct app *app);
/* After each turn: put in force what has been read. */
void reload_turn(struct app *app);
/* Every LOAD_LOOK: is a reading stuck? */
void reload_tick(struct app *app);
/* The file of the next reload, which is itself a setting. */
const char *reload_path(const struct app *app);
/* Free a result, of which the biggest part may go to a thread. */
void reload_drop(struct app *app, struct load *l);

#endif
