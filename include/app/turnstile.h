/* turnstile.h - one process at a time takes over from another.
 * SPDX-License-Identifier: ISC */
#ifndef APP_TURNSTILE_H
#define APP_TURNSTILE_H

struct err;

/*
 * A second one would find nobody who answers, as all stands still for the first
 * one. path: the Unix socket of the process that is to end. *fd, if it is not
 * -1, is to be closed when that has been told to. 0, or -1 with e: another
 * process is at it. Where that cannot be known, the old process decides.
 */
int turnstile_enter(const char *path, int *fd, struct err *e);

#endif
