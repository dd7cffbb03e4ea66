/* set.h - SET: one setting of the configuration in force is changed.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SET_H
#define APP_SET_H

struct app;
struct err;

/*
 * Put the changed setting in force: the console's SET. 0, or -1 with e. With 0
 * e holds a notice for the console, or an empty text.
 */
int set_now(struct app *app, const char *key, const char *value,
    struct err *e);
/* Could that be put in force, alone? 0, or -1 with e. */
int set_try(const struct app *app, const char *key, const char *value,
    struct err *e);

#endif
