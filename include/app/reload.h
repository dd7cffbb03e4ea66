/* reload.h - a new configuration: read, applied and swapped, or not at all.
 * SPDX-License-Identifier: ISC */
#ifndef APP_RELOAD_H
#define APP_RELOAD_H

#include <stdbool.h>

struct app;
struct config;
struct err;
struct load;
struct tls_setup;

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

/* A configuration, put in force. */

/*
 * Put fresh in force for all that follows from it, but the log: all, or
 * nothing. Takes fresh, and tls, which is NULL when nothing of TLS has changed.
 * 0, or -1 with e.
 */
int apply_config(struct app *app, struct config *fresh,
    struct tls_setup *tls, struct err *e);

/*
 * The same configuration with TLS files read anew, at all workers. Takes tls. 0,
 * or -1 with e: a worker does not answer, or no memory; then nothing has changed.
 */
int apply_tls(struct app *app, struct tls_setup *tls, struct err *e);

/* Log as the configuration says; reopens file and syslog. */
void apply_log(const struct app *app);
/* How much may be under way at once outside the loop. */
void apply_threads(const struct app *app);
/* Keep names, and check their zones, as the configuration says. */
void apply_dns(const struct app *app);
/* The limit of all memory. */
void apply_memory(const struct app *app);
/* What users are shown who have no salt, or don't exist. */
void apply_mock(struct app *app);

/* Is the setting key one of TLS? */
bool apply_is_about_tls(const char *key);
/* The TLS of c, for apply_config(); NULL: logged, and the old one is kept. */
struct tls_setup *apply_new_tls(struct config *c);

#endif
