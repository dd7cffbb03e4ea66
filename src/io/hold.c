/* hold.c - one thread stops the loops of others, and has all that is theirs.
 * SPDX-License-Identifier: ISC */
#include "io/hold.h"

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/os.h"
#include "io/loop.h"

/*
 * No lock: whoever stops for good while it has one would stop all that want it.
 * Each hold has a number; a loop says with which it stands still.
 */

/* A loop that can be held. */
struct member {
	struct member *next;
	struct hold *hold;
	struct loop *loop;
	struct loop_watch *watch;	/* owned; the loop's */
	struct os_wake asked;		/* the loop is to stop */
	atomic_uint stands;		/* in that hold; 0: it does not */
	sem_t released;			/* look at wanted again */
};

struct hold {
	atomic_uint wanted;		/* the hold that lasts; 0: none */
	unsigned last;			/* the number of the last one */
	struct os_wake stopped;		/* one more stands still */
	unsigned depth;			/* holds within holds */
	unsigned missing;		/* who did not come last time, from 1 */
	struct member *members;		/* LL list, owned */
};

static void stand(struct member *m, unsigned number)
{
	struct hold *const h = m->hold;

	atomic_store(&m->stands, number);
	os_wake_call(&h->stopped);
	while (atomic_load(&h->wanted) == number)
		(void)sem_wait(&m->released);
	atomic_store(&m->stands, 0);
	/* times written here meanwhile must not be of the future */
	loop_forward(m->loop);
}

/* On the loop that is to stop. */
static void on_asked(void *arg)
{
	struct member *const m = arg;
	unsigned number;

	os_wake_take(&m->asked);
	/* the next hold may come before we have seen the end of this */
	while ((number = atomic_load(&m->hold->wanted)) != 0)
		stand(m, number);
}

struct hold *hold_new(void)
{
	struct hold *h = mem_zalloc(sizeof *h);

	if (h == NULL)
		return NULL;
	if (os_wake_open(&h->stopped) == 0)
		return h;
	mem_free(h);
	return NULL;
}

static void member_free(struct member *m)
{
	loop_unwatch(&m->watch);
	os_wake_close(&m->asked);
	sem_destroy(&m->released);
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
	os_wake_close(&h->stopped);
	mem_free(h);
}

int hold_join(struct hold *h, struct loop *l)
{
	struct member *m = mem_zalloc(sizeof *m);

	if (m == NULL)
		return -1;
	m->hold = h;
	m->loop = l;
	sem_init(&m->released, 0, 0);
	if (os_wake_open(&m->asked) == 0)
		m->watch = loop_watch(l, m->asked.fd, on_asked, m);
	if (m->watch == NULL) {
		member_free(m);
		return -1;
	}
	LL_APPEND(h->members, m);
	return 0;
}

/* Who is first of those that do not stand still, from 1; 0: all do. */
static unsigned find_missing(const struct hold *h)
{
	const struct member *m;
	unsigned n = 1;

	LL_FOREACH(h->members, m) {
		if (atomic_load(&m->stands) != h->last)
			return n;
		n++;
	}
	return 0;
}

/* Returns who does not stand still at the end of limit; 0: all do. */
static unsigned await_all(const struct hold *h, usec_t limit)
{
	const usec_t end = time_precise() + limit;
	struct pollfd stopped = { .fd = h->stopped.fd, .events = POLLIN };
	unsigned missing;

	while ((missing = find_missing(h)) != 0) {
		const usec_t left = end - time_precise();

		if (left <= 0)
			break;
		(void)poll(&stopped, 1, (int)((left + 999) / 1000));
		os_wake_take(&h->stopped);
	}
	return missing;
}

static void let_go(struct hold *h)
{
	struct member *m;

	atomic_store(&h->wanted, 0);
	LL_FOREACH(h->members, m)
		(void)sem_post(&m->released);
}

static void call_all(struct hold *h)
{
	const struct member *m;

	if (++h->last == 0)
		h->last = 1;
	atomic_store(&h->wanted, h->last);
	LL_FOREACH(h->members, m)
		os_wake_call(&m->asked);
}

bool hold_take(struct hold *h, usec_t limit)
{
	if (h->depth == 0) {
		call_all(h);
		h->missing = await_all(h, limit);
		if (h->missing != 0) {
			let_go(h);
			return false;
		}
	}
	h->depth++;
	return true;
}

unsigned hold_missing(const struct hold *h)
{
	return h->missing;
}

void hold_release(struct hold *h)
{
	if (--h->depth == 0)
		let_go(h);
}
