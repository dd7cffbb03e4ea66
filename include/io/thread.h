/* thread.h - a thread that runs a loop beside the first one.
 * SPDX-License-Identifier: ISC */
#ifndef IO_THREAD_H
#define IO_THREAD_H

struct thread;

/* Signals are the first thread's. name: 15 letters. NULL: there can be none. */
struct thread *thread_start(const char *name, void (*run)(void *arg),
    void *arg);
/* Wait until run() has returned. */
void thread_join(struct thread **t);

#endif
