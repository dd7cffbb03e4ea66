/* takeover.h - online restart: a running process hands us its sockets.
 * SPDX-License-Identifier: ISC */
#ifndef APP_TAKEOVER_H
#define APP_TAKEOVER_H

#include <sys/types.h>

#include "base/time.h"

struct app;
struct err;
struct takeover;

/*
 * Connect to the console at the Unix socket path, which must be ours. Nothing
 * changes there. As all of these it blocks, for some seconds at most where the
 * process is stopped. NULL with e set. (spec/config-files.md section 21)
 */
struct takeover *takeover_begin(const char *path, struct err *e);

/* The number of that process; 0: not known. */
pid_t takeover_pid(const struct takeover *t);

/*
 * Have it stand still, and get its sockets. As long as we are connected it
 * waits; when we are gone without takeover_finish(), it goes on as if nothing
 * had happened. 0, or -1 with e.
 */
int takeover_get(struct takeover *t, const struct app *app, struct err *e);

/* Make its listeners and sessions ours, all of them standing still. 0 or -1. */
int takeover_restore(struct takeover *t, struct app *app, struct err *e);

/*
 * Tell it to end, and serve its clients from now on. Takes t. 0, or -1 with e:
 * it has not been told, and serves them still. All that can fail from here on
 * must have been tried before: there is no way back.
 */
int takeover_finish(struct takeover **t, struct app *app, struct err *e);
/* A few times a second: when it has ended, its pid file's place is ours. */
void takeover_tick(struct app *app, usec_t now);
void takeover_free(struct takeover **t);

/* One process at a time takes over from another. */

/*
 * A second one would find nobody who answers, as all stands still for the first
 * one. path: the Unix socket of the process that is to end. *fd, if it is not
 * -1, is to be closed when that has been told to. 0, or -1 with e: another
 * process is at it. Where that cannot be known, the old process decides.
 */
int turnstile_enter(const char *path, int *fd, struct err *e);

#endif
