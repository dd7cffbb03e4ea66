/* offload.c - work that would block the loop: done by threads, told on the
 * loop.
 * SPDX-License-Identifier: ISC */
#include "io/offload.h"

#include <pthread.h>
#include <signal.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/time.h"
#include "io/loop.h"
#include "io/thread.h"

#define THREADS_MAX 64
#define GRACE (USEC / 5)	/* for running jobs at the end */

struct lane {
	pthread_cond_t work;		/* a job was queued, or stop was set */
	struct offload_job *queue;	/* DL list, oldest first */
	int queued;			/* jobs that wait */
	int started, busy;		/* threads; those with a job */
	int max_threads, max_queued;
	pthread_t threads[THREADS_MAX];
	struct offload *owner;
};

struct offload {
	pthread_mutex_t lock;		/* of all that follows but watch */
	pthread_cond_t ended;		/* a thread has ended */
	struct lane lanes[OFFLOAD_LANES];
	struct offload_job *finished;	/* DL list: done is to be called */
	int threads;			/* threads that have not ended */
	struct os_wake wake;		/* finished is not empty */
	bool stop;
	struct os_cpus cpus;		/* for threads */
	struct loop *loop;		/* borrowed; NULL: not yet */
	struct loop_watch *watch;	/* owned; the loop's */
};

/* --- on the threads --- */

/* The oldest job of the lane; NULL: the lane ends. Called with the lock. */
static struct offload_job *take(struct offload *o, struct lane *l)
{
	while (l->queue == NULL && !o->stop)
		pthread_cond_wait(&l->work, &o->lock);
	struct offload_job *j = l->queue;

	if (o->stop || j == NULL)
		return NULL;
	DL_DELETE(l->queue, j);
	l->queued--;
	l->busy++;
	j->queued = false;
	return j;
}

/* Called with the lock. */
static void finish(struct offload *o, struct lane *l, struct offload_job *j)
{
	l->busy--;
	/* the loop empties the list once for all that came meanwhile */
	if (o->finished == NULL)
		os_wake_call(&o->wake);
	DL_APPEND(o->finished, j);
}

static void *run(void *arg)
{
	struct lane *l = arg;
	struct offload *o = l->owner;
	struct offload_job *j;

	thread_unpin(&o->cpus);
	pthread_mutex_lock(&o->lock);
	while ((j = take(o, l)) != NULL) {
		pthread_mutex_unlock(&o->lock);
		j->ops->work(j);
		pthread_mutex_lock(&o->lock);
		finish(o, l, j);
	}
	o->threads--;
	pthread_cond_signal(&o->ended);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* --- on the loop --- */

/* Signals are the loop's. Called with the lock. */
static bool start_thread(struct offload *o, struct lane *l)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool started = pthread_create(&l->threads[l->started], NULL,
	    run, l) == 0;

	if (started) {
		(void)pthread_setname_np(l->threads[l->started++], "helper");
		o->threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static void tell(struct offload_job *j)
{
	if (!j->cancelled)
		j->ops->done(j);
	j->ops->free(j);
}

static void on_finished(void *arg)
{
	struct offload *o = arg;
	struct offload_job *j;

	os_wake_take(&o->wake);
	for (;;) {
		pthread_mutex_lock(&o->lock);
		j = o->finished;
		if (j != NULL)
			DL_DELETE(o->finished, j);
		pthread_mutex_unlock(&o->lock);
		if (j == NULL)
			return;
		tell(j);
	}
}

static int init_locks(struct offload *o)
{
	pthread_condattr_t clock;

	if (pthread_condattr_init(&clock) != 0)
		return -1;
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->ended, &clock);
	pthread_condattr_destroy(&clock);
	for (int i = 0; i < OFFLOAD_LANES; i++) {
		pthread_cond_init(&o->lanes[i].work, NULL);
		o->lanes[i].owner = o;
		o->lanes[i].max_threads = 1;
		o->lanes[i].max_queued = 1;
	}
	return 0;
}

static void release(struct offload *o)
{
	if (o->loop != NULL)
		loop_set_offload(o->loop, NULL);
	loop_unwatch(&o->watch);
	os_wake_close(&o->wake);
	for (int i = 0; i < OFFLOAD_LANES; i++)
		pthread_cond_destroy(&o->lanes[i].work);
	pthread_cond_destroy(&o->ended);
	pthread_mutex_destroy(&o->lock);
	mem_free(o);
}

struct offload *offload_new(struct loop *l)
{
	struct offload *o = mem_zalloc(sizeof *o);

	if (o == NULL || init_locks(o) < 0) {
		mem_free(o);
		return NULL;
	}
	os_cpus_get(&o->cpus);
	if (os_wake_open(&o->wake) == 0)
		o->watch = loop_watch(l, o->wake.fd, on_finished, o);
	if (o->watch == NULL) {
		release(o);
		return NULL;
	}
	o->loop = l;
	loop_set_offload(l, o);
	return o;
}

/* Drop what no thread has; the others may come back. With the lock. */
static void drop_queued(struct offload *o)
{
	struct offload_job *j, *next;

	for (int i = 0; i < OFFLOAD_LANES; i++) {
		struct lane *l = &o->lanes[i];

		DL_FOREACH_SAFE(l->queue, j, next) {
			DL_DELETE(l->queue, j);
			j->ops->free(j);
		}
		l->queued = 0;
		pthread_cond_broadcast(&l->work);
	}
}

/* Have all threads ended? Waits a moment for them. With the lock. */
static bool await_end(struct offload *o)
{
	const usec_t end = time_precise() + GRACE;
	const struct timespec until = { .tv_sec = end / USEC,
	    .tv_nsec = end % USEC * 1000 };

	while (o->threads > 0) {
		if (pthread_cond_timedwait(&o->ended, &o->lock, &until) != 0)
			return o->threads == 0;
	}
	return true;
}

static void join(struct offload *o)
{
	for (int i = 0; i < OFFLOAD_LANES; i++) {
		for (int n = 0; n < o->lanes[i].started; n++)
			pthread_join(o->lanes[i].threads[n], NULL);
	}
}

bool offload_free(struct offload **op)
{
	struct offload *o = *op;
	struct offload_job *j, *next;

	*op = NULL;
	if (o == NULL)
		return true;
	pthread_mutex_lock(&o->lock);
	o->stop = true;
	drop_queued(o);
	const bool ended = await_end(o);

	pthread_mutex_unlock(&o->lock);
	if (!ended)
		return false;
	join(o);
	DL_FOREACH_SAFE(o->finished, j, next) {
		DL_DELETE(o->finished, j);
		j->ops->free(j);
	}
	release(o);
	return true;
}

void offload_limit(struct offload *o, enum offload_lane lane, int threads,
    int queue)
{
	struct lane *l = &o->lanes[lane];

	pthread_mutex_lock(&o->lock);
	l->max_threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	l->max_queued = queue;
	/* for jobs that wait already */
	while (l->queued > l->started - l->busy &&
	    l->started < l->max_threads && start_thread(o, l))
		;
	pthread_mutex_unlock(&o->lock);
}

/* Called with the lock. */
static enum offload_answer queue(struct offload *o, struct lane *l,
    struct offload_job *j)
{
	/* a job that a thread is free for does not wait */
	if (l->queued >= l->started - l->busy && l->started < l->max_threads)
		(void)start_thread(o, l);
	if (l->started == 0)
		return OFFLOAD_NO_THREAD;
	if (l->queued >= l->started - l->busy + l->max_queued)
		return OFFLOAD_FULL;
	DL_APPEND(l->queue, j);
	l->queued++;
	j->queued = true;
	pthread_cond_signal(&l->work);
	return OFFLOAD_TAKEN;
}

enum offload_answer offload_submit(struct offload *o, enum offload_lane lane,
    struct offload_job *j)
{
	j->lane = lane;
	j->queued = j->cancelled = false;
	pthread_mutex_lock(&o->lock);
	const enum offload_answer answer = queue(o, &o->lanes[lane], j);

	pthread_mutex_unlock(&o->lock);
	return answer;
}

bool offload_is_queued(struct offload *o, const struct offload_job *j)
{
	pthread_mutex_lock(&o->lock);
	const bool queued = j->queued;

	pthread_mutex_unlock(&o->lock);
	return queued;
}

void offload_cancel(struct offload *o, struct offload_job *j)
{
	struct lane *l = &o->lanes[j->lane];

	pthread_mutex_lock(&o->lock);
	const bool queued = j->queued;

	if (queued) {
		DL_DELETE(l->queue, j);
		l->queued--;
	}
	pthread_mutex_unlock(&o->lock);
	j->cancelled = true;
	if (queued)
		j->ops->free(j);
}
