/* input.h - files that are read: none that keeps us waiting, or is a trap.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

/* Before another look at path. 0, or -1 with errno. */
int input_begin(const char *path);

/*
 * Read from fd to its end, or until buf has size bytes. Returns: the bytes read, or
 * -1 with errno.
 */
ssize_t input_read(int fd, char *buf, size_t size);

/* strerror(), which also knows what input_open() has to say. */
const char *input_why(int cause);

/*
 * Which file a thread waits for, seen by another.
 *
 * A disk that never answers holds a thread that reads it for ever, and nothing
 * gives it back. Others can tell where it is, and go on without it.
 */

/* Private to input.c. */
struct input_watch {
	pthread_mutex_t lock;		/* of steps and path */
	unsigned long steps;		/* odd: path is waited for */
	char path[PATH_MAX];		/* cut when it is longer */
	char barred[PATH_MAX];		/* "": none; see below */
};

/* barred (may be NULL) is not to be waited for: others hang there already. */
void input_watch_init(struct input_watch *w, const char *barred);
void input_watch_fini(struct input_watch *w);

/* This thread notes its files in w from now on; NULL: nowhere. */
void input_watch_set(struct input_watch *w);

/*
 * Before this thread touches path, and when the thread is done with path. A
 * path follows another without an end in between, too.
 * Returns 0, or -1: path is barred.
 */
int input_watch_begin(const char *path);
void input_watch_end(void);

/*
 * From any thread: is a file waited for? path (PATH_MAX bytes) is set if so;
 * *steps is another than before when there was progress.
 */
bool input_watch_look(struct input_watch *w, char *path,
    unsigned long *steps);

#endif
