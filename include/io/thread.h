/* thread.h - a thread that runs a loop beside the first one.
 * SPDX-License-Identifier: ISC */
#ifndef IO_THREAD_H
#define IO_THREAD_H

#include <pthread.h>

struct thread;

/*
 * It waits for thread_go(), which can't fail. Signals are the first thread's, but
 * for THREAD_SIGNAL. name: 15 letters. NULL: there can be none.
 */
struct thread *thread_start(const char *name, void (*run)(void *arg),
    void *arg);
void thread_go(struct thread *t);
/* Interrupt it; its handler finds arg in si_value. Ignored where there is none. */
#define THREAD_SIGNAL SIGURG
void thread_signal(const struct thread *t, void *arg);
/* Wait until run() has returned. */
void thread_join(struct thread **t);

/*
 * This one runs on that CPU only, and so do those that it starts, unless they see to
 * it. 0, or an error of errno(3).
 */
int thread_pin(int cpu);
/* Where this one may run. */
void thread_cpus(cpu_set_t *set);
/* This one is bound, as its maker is, for whose loop that was: let it run there. */
void thread_unpin(const cpu_set_t *set);

#endif
