/* pidfile.h - the file that names the process.
 * SPDX-License-Identifier: ISC */
#ifndef APP_PIDFILE_H
#define APP_PIDFILE_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

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

#endif
