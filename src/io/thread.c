/* thread.c - a thread that runs a loop beside the first one.
 * SPDX-License-Identifier: ISC */
#include "io/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/os.h"

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

pthread_t thread_id(const struct thread *t)
{
	return t->id;
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

void thread_unpin(const struct os_cpus *set)
{
	struct os_cpus ours;

	os_cpus_get(&ours);
	if (os_cpus_count(&ours) == 1 && os_cpus_count(set) > 1)
		(void)os_cpus_set(set);
}
