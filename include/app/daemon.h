/* daemon.h - the process and its surroundings: user, pid file, background.
 * SPDX-License-Identifier: ISC */
#ifndef APP_DAEMON_H
#define APP_DAEMON_H

struct app;
struct err;

/* What was closed is /dev/null: else a socket would get its number. */
void daemon_keep_streams(void);
/* As many descriptors as we may have. */
void daemon_raise_fd_limit(void);
/* The line of spec/logging.md section 7, "kernel file descriptor limit". */
void daemon_log_fd_limit(const struct app *app);

/* Become the OS user name, with its primary group only. 0 or -1. */
int daemon_switch_user(const char *name, struct err *e);

/*
 * Go to the background: returns in the grandchild; the caller's process stays
 * until it hears how the start went, and ends with status 0 or 1. Unless -q, a
 * line on stderr names the process and its log. -1 when that fails.
 */
int daemon_detach(struct app *app, struct err *e);
/* The start has been a success. */
void daemon_tell_up(struct app *app);

#endif
