/* input.h - files that are read: none that keeps us waiting, or is a trap.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include <stddef.h>

/*
 * Open path for reading. Refused is what is neither a regular file nor a
 * character device such as /dev/null: a named pipe could keep us for ever. As
 * root also a file reached by a link of another user than root, unless the file
 * has the same owner: a user who may start us as root must not have root read
 * another's file out. An input_watch sees path until input_watch_end().
 * Returns: a descriptor, or -1 with errno, for input_why().
 */
int input_open(const char *path);

/* The same, of a file that a library opens. 0, or -1 with errno. */
int input_check(const char *path);

/* Before another look at path; see input_watch.h. 0, or -1 with errno. */
int input_begin(const char *path);

/* strerror(), which also knows what input_open() has to say. */
const char *input_why(int cause);

#endif
