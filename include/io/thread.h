/* thread.h - a thread that runs a loop beside the first one.
 * SPDX-License-Identifier: ISC */
#ifndef IO_THREAD_H
#define IO_THREAD_H

#include <pthread.h>

struct os_cpus;
struct thread;

/*
 * It waits for thread_go(), which can't fail. Signals are the first thread's, but
 * for THREAD_SIGNAL. name: 15 letters. NULL: there can be none.
 */
struct thread *thread_start(const char *name, void (*run)(void *arg),
    void *arg);
void thread_go(struct thread *t);
/* It interrupts a thread. Ignored where there is no handler. */
#define THREAD_SIGNAL SIGURG
pthread_t thread_id(const struct thread *t);
/* Wait until run() has returned. */
void thread_join(struct thread **t);

/* This one is bound, as its maker is, for whose loop that was: let it run there. */
void thread_unpin(const struct os_cpus *set);

#endif
