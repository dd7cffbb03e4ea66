/* watchdog.c - a thread that notices turns of a loop that last too long.
 *
 * To read the clock around all that a loop does would cost each message; to look
 * at the loop now and then costs nothing there.
 * SPDX-License-Identifier: ISC */
#include "io/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/mem.h"
#include "io/loop.h"
#include "io/thread.h"

#define LOOKS 4			/* while a turn is as long as the limit */

struct watchdog {
	struct loop *loop;	/* borrowed */
	struct thread *thread;	/* owned */
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t changed;
	usec_t limit;
	bool ends;
};

/* Until the next look. False: limit or end has changed. */
static bool wait(struct watchdog *w)
{
	if (w->limit == 0) {
		(void)pthread_cond_wait(&w->changed, &w->lock);
		return false;
	}
	const usec_t next = time_precise() + w->limit / LOOKS;
	const struct timespec at = { .tv_sec = (time_t)(next / USEC),
		.tv_nsec = (long)(next % USEC) * 1000 };

	return pthread_cond_timedwait(&w->changed, &w->lock, &at) == ETIMEDOUT;
}

/*
 * Looks are counted, not time: while the whole process was stopped, its loop has
 * lost none.
 */
static void watchdog_run(void *arg)
{
	struct watchdog *const w = arg;
	unsigned seen = 0, looks = 0;

	pthread_mutex_lock(&w->lock);
	while (!w->ends) {
		if (!wait(w))
			continue;
		const unsigned mark = loop_mark(w->loop);

		looks = mark != 0 && mark == seen ? looks + 1 : 0;
		seen = mark;
		if (looks == LOOKS)
			loop_note_long(w->loop, mark);
	}
	pthread_mutex_unlock(&w->lock);
}

struct watchdog *watchdog_new(struct loop *l, usec_t limit)
{
	struct watchdog *w = mem_zalloc(sizeof *w);
	pthread_condattr_t how;

	if (w == NULL)
		return NULL;
	w->loop = l;
	w->limit = limit;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &how);
	pthread_condattr_destroy(&how);
	w->thread = thread_start("watchdog", watchdog_run, w);
	if (w->thread == NULL)
		watchdog_free(&w);
	else
		thread_go(w->thread);
	return w;
}

static void watchdog_change(struct watchdog *w, usec_t limit, bool ends)
{
	pthread_mutex_lock(&w->lock);
	w->limit = limit;
	w->ends = ends;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void watchdog_set(struct watchdog *w, usec_t limit)
{
	watchdog_change(w, limit, false);
}

void watchdog_free(struct watchdog **wp)
{
	struct watchdog *const w = *wp;

	*wp = NULL;
	if (w == NULL)
		return;
	watchdog_change(w, w->limit, true);
	thread_join(&w->thread);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	mem_free(w);
}
