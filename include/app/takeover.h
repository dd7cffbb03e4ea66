/* takeover.h - online restart: a running process hands us its sockets.
 * SPDX-License-Identifier: ISC */
#ifndef APP_TAKEOVER_H
#define APP_TAKEOVER_H

struct app;
struct err;
struct takeover;

/*
 * Connect to the console at the Unix socket path, have the process there stand
 * still, and get its sockets. As long as we are connected it waits; when we
 * are gone without takeover_finish(), it goes on as if nothing had happened.
 * Blocks. NULL with e set. (config-files.md section 21)
 */
struct takeover *takeover_begin(const struct app *app, const char *path,
    struct err *e);

/* Make its listeners and sessions ours, all of them standing still. 0 or -1. */
int takeover_restore(struct takeover *t, struct app *app, struct err *e);

/*
 * Tell it to end, and wait until it has; then serve its clients. Frees t.
 * 0, or -1 with e: it may serve them still.
 */
int takeover_finish(struct takeover **t, struct app *app, struct err *e);

#endif
