/* apply.h - a configuration, put in force.
 * SPDX-License-Identifier: ISC */
#ifndef APP_APPLY_H
#define APP_APPLY_H

#include <stdbool.h>

struct app;
struct config;
struct err;
struct tls_setup;

/*
 * Put fresh in force for all that follows from it, but the log: all, or
 * nothing. Takes fresh, and tls, which is NULL when nothing of TLS has changed.
 * 0, or -1 with e.
 */
int apply_config(struct app *app, struct config *fresh,
    struct tls_setup *tls, struct err *e);

/*
 * The same configuration with TLS files read anew, at all workers. Takes tls. 0,
 * or -1: a worker does not answer, and nothing has changed.
 */
int apply_tls(struct app *app, struct tls_setup *tls);

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
