/* thread.c - a thread that runs a loop beside the first one.
 * SPDX-License-Identifier: ISC */
#include "io/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/mem.h"

struct thread {
	pthread_t id;
	void (*run)(void *arg);
	void *arg;
};

static void *begin(void *arg)
{
	struct thread *const t = arg;

	t->run(t->arg);
	return NULL;
}

struct thread *thread_start(const char *name, void (*run)(void *), void *arg)
{
	struct thread *t = mem_zalloc(sizeof *t);
	sigset_t all, before;

	if (t == NULL)
		return NULL;
	t->run = run;
	t->arg = arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int rc = pthread_create(&t->id, NULL, begin, t);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		mem_free(t);
		return NULL;
	}
	(void)pthread_setname_np(t->id, name);
	return t;
}

void thread_join(struct thread **tp)
{
	struct thread *const t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	pthread_join(t->id, NULL);
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
