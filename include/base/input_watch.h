/* input_watch.h - which file a thread waits for, seen by another.
 *
 * A disk that never answers holds a thread that reads it for ever, and nothing
 * gives it back. Others can tell where it is, and go on without it.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_INPUT_WATCH_H
#define BASE_INPUT_WATCH_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

/* Private to input_watch.c. */
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
