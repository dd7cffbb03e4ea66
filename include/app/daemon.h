/* daemon.h - the process and its surroundings: user, pid file, background,
 * signals, the service manager.
 * SPDX-License-Identifier: ISC */
#ifndef APP_DAEMON_H
#define APP_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

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

/* The file that names the process. */

/*
 * (spec/config-files.md section 16) Is the place free? A stale file is removed.
 * The file of the process ending, which is about to remove it, is no obstacle;
 * 0: there is no such process. 0 or -1.
 */
int pidfile_check(const char *path, pid_t ending, struct err *e);

/* Could we make it, in its folder? Nothing is left there. 0 or -1. */
int pidfile_try(const char *path, struct err *e);

/* Does the file name that process, which lives? 0: none is meant. */
bool pidfile_names(const char *path, pid_t process);

int pidfile_write(const char *path, struct err *e);

/* The start is over: whom to tell, and the pid file. */

/* Of one that has taken over: what can't be written is an error, not the end. */
void ready_take_pidfile(struct app *app);
/* The log, the service manager, and the process that has started a daemon. */
void ready_tell(struct app *app);

/* Signals while there is no loop to hear them. */

/*
 * Before there is one: a signal that asks for the end ends us at once, with
 * status 0, as there is nothing yet to take apart. Others wait for the loop.
 */
void sigmask_early(void);
/* Was the process started with this signal, SIGTERM, ignored? It stays so. */
bool sigmask_is_ignored(int signo);
/* The loop hears them: what has come meanwhile has its turn. */
void sigmask_open(void);
/* The loop is left, and its handlers with it: none counts any more. */
void sigmask_late(void);
/* Signals mean to this process, a child, what they mean to any. */
void sigmask_forget(void);

#endif
