/* hold.c - one thread stops the loops of others, and has all that is theirs.
 * SPDX-License-Identifier: ISC */
#include "io/hold.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "base/mem.h"
#include "io/loop.h"

/* A loop that can be held. */
struct member {
	struct member *next;
	struct hold *hold;
	struct loop *loop;
	struct loop_watch *watch;	/* owned; the loop's */
	int fd;				/* eventfd: the loop is asked to stop */
	bool stands;			/* under the hold's lock */
};

struct hold {
	pthread_mutex_t lock;		/* of wanted and standing */
	pthread_cond_t stopped;		/* one more stands still */
	pthread_cond_t released;
	bool wanted;
	unsigned standing;		/* loops that stand still */
	unsigned count;			/* members */
	unsigned depth;			/* holds within holds */
	unsigned missing;		/* who did not come last time, from 1 */
	struct member *members;		/* LL list, owned */
};

/* On the loop that is to stop. */
static void on_asked(void *arg)
{
	struct member *const m = arg;
	struct hold *const h = m->hold;
	uint64_t count;

	(void)!read(m->fd, &count, sizeof count);
	pthread_mutex_lock(&h->lock);
	if (h->wanted) {
		h->standing++;
		m->stands = true;
		pthread_cond_signal(&h->stopped);
		/* the next hold may come before we have seen the end of this */
		while (h->wanted)
			pthread_cond_wait(&h->released, &h->lock);
		h->standing--;
		m->stands = false;
		/* times written here meanwhile must not be of the future */
		loop_forward(m->loop);
	}
	pthread_mutex_unlock(&h->lock);
}

struct hold *hold_new(void)
{
	struct hold *h = mem_zalloc(sizeof *h);
	pthread_condattr_t clock;

	if (h == NULL || pthread_condattr_init(&clock) != 0) {
		mem_free(h);
		return NULL;
	}
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->stopped, &clock);
	pthread_cond_init(&h->released, NULL);
	pthread_condattr_destroy(&clock);
	return h;
}

static void member_free(struct member *m)
{
	loop_unwatch(&m->watch);
	if (m->fd >= 0)
		close(m->fd);
	mem_free(m);
}

void hold_free(struct hold **hp)
{
	struct hold *const h = *hp;
	struct member *m, *next;

	*hp = NULL;
	if (h == NULL)
		return;
	LL_FOREACH_SAFE(h->members, m, next)
		member_free(m);
	pthread_cond_destroy(&h->released);
	pthread_cond_destroy(&h->stopped);
	pthread_mutex_destroy(&h->lock);
	mem_free(h);
}

int hold_join(struct hold *h, struct loop *l)
{
	struct member *m = mem_zalloc(sizeof *m);

	if (m == NULL)
		return -1;
	m->hold = h;
	m->loop = l;
	m->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (m->fd >= 0)
		m->watch = loop_watch(l, m->fd, on_asked, m);
	if (m->watch == NULL) {
		member_free(m);
		return -1;
	}
	LL_APPEND(h->members, m);
	h->count++;
	return 0;
}

/* Do all stand still? With the lock. */
static bool await_all(struct hold *h, usec_t limit)
{
	const usec_t end = time_precise() + limit;
	const struct timespec until = { .tv_sec = end / USEC,
	    .tv_nsec = end % USEC * 1000 };

	while (h->standing < h->count) {
		if (pthread_cond_timedwait(&h->stopped, &h->lock, &until) != 0)
			return h->standing == h->count;
	}
	return true;
}

static unsigned find_missing(const struct hold *h)
{
	const struct member *m;
	unsigned n = 1;

	LL_FOREACH(h->members, m) {
		if (!m->stands)
			break;
		n++;
	}
	return n;
}

static void let_go(struct hold *h)
{
	h->wanted = false;
	pthread_cond_broadcast(&h->released);
}

bool hold_take(struct hold *h, usec_t limit)
{
	const uint64_t one = 1;
	const struct member *m;

	if (h->depth > 0) {
		h->depth++;
		return true;
	}
	pthread_mutex_lock(&h->lock);
	h->wanted = true;
	LL_FOREACH(h->members, m)
		(void)!write(m->fd, &one, sizeof one);
	const bool all = await_all(h, limit);

	if (all) {
		h->depth = 1;
	} else {
		h->missing = find_missing(h);
		let_go(h);
	}
	pthread_mutex_unlock(&h->lock);
	return all;
}

unsigned hold_missing(const struct hold *h)
{
	return h->missing;
}

void hold_release(struct hold *h)
{
	if (--h->depth > 0)
		return;
	pthread_mutex_lock(&h->lock);
	let_go(h);
	pthread_mutex_unlock(&h->lock);
}
