/* thread.c - a thread that runs a loop beside the first one.
 * SPDX-License-Identifier: ISC */
#include "io/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/mem.h"

struct thread {
	pthread_t id;
	pthread_mutex_t gate;	/* locked until it may begin */
	void (*run)(void *arg);
	void *arg;
};

static void *begin(void *arg)
{
	struct thread *const t = arg;
	sigset_t one;

	pthread_mutex_lock(&t->gate);
	pthread_mutex_unlock(&t->gate);
	sigemptyset(&one);
	sigaddset(&one, THREAD_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	t->run(t->arg);
	return NULL;
}

void thread_go(struct thread *t)
{
	pthread_mutex_unlock(&t->gate);
}

struct thread *thread_start(const char *name, void (*run)(void *), void *arg)
{
	struct thread *t = mem_zalloc(sizeof *t);
	sigset_t all, before;

	if (t == NULL)
		return NULL;
	t->run = run;
	t->arg = arg;
	pthread_mutex_init(&t->gate, NULL);
	pthread_mutex_lock(&t->gate);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int rc = pthread_create(&t->id, NULL, begin, t);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		thread_go(t);
		pthread_mutex_destroy(&t->gate);
		mem_free(t);
		return NULL;
	}
	(void)pthread_setname_np(t->id, name);
	return t;
}

void thread_signal(const struct thread *t, void *arg)
{
	(void)pthread_sigqueue(t->id, THREAD_SIGNAL,
	    (union sigval){ .sival_ptr = arg });
}

void thread_join(struct thread **tp)
{
	struct thread *const t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	pthread_join(t->id, NULL);
	pthread_mutex_destroy(&t->gate);
	mem_free(t);
}

int thread_pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

void thread_cpus(cpu_set_t *set)
{
	if (pthread_getaffinity_np(pthread_self(), sizeof *set, set) != 0)
		CPU_ZERO(set);
}

void thread_unpin(const cpu_set_t *set)
{
	cpu_set_t ours;

	thread_cpus(&ours);
	if (CPU_COUNT(&ours) == 1 && CPU_COUNT(set) > 1)
		(void)pthread_setaffinity_np(pthread_self(), sizeof *set, set);
}
