/* mailbox.c - one thread gives objects to the loop of another.
 * SPDX-License-Identifier: ISC */
#include "io/mailbox.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/loop.h"

#define SLOTS 4096	/* a power of two */

struct mailbox {
	void (*fn)(void *arg, void *object);
	void *arg;
	struct loop_watch *watch;	/* owned */
	int fd;				/* eventfd */
	atomic_bool rung;	/* fd was written, and not read yet */
	atomic_uint put, taken;		/* objects so far; both wrap */
	void *slots[SLOTS];
};

static void take_all(struct mailbox *m)
{
	unsigned at = atomic_load_explicit(&m->taken, memory_order_relaxed);

	while (at != atomic_load_explicit(&m->put, memory_order_acquire)) {
		void *const object = m->slots[at++ % SLOTS];

		atomic_store_explicit(&m->taken, at, memory_order_release);
		m->fn(m->arg, object);
	}
}

static void on_bell(void *arg)
{
	struct mailbox *const m = arg;
	uint64_t count;

	(void)!read(m->fd, &count, sizeof count);
	/* objects put from here on ring again */
	atomic_store(&m->rung, false);
	take_all(m);
}

struct mailbox *mailbox_new(struct loop *to, void (*fn)(void *, void *),
    void *arg)
{
	struct mailbox *m = mem_zalloc(sizeof *m);

	if (m == NULL)
		return NULL;
	m->fn = fn;
	m->arg = arg;
	m->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (m->fd >= 0)
		m->watch = loop_watch(to, m->fd, on_bell, m);
	if (m->watch != NULL)
		return m;
	if (m->fd >= 0)
		close(m->fd);
	mem_free(m);
	return NULL;
}

void mailbox_free(struct mailbox **mp)
{
	struct mailbox *const m = *mp;

	*mp = NULL;
	if (m == NULL)
		return;
	take_all(m);
	loop_unwatch(&m->watch);
	close(m->fd);
	mem_free(m);
}

bool mailbox_has_room(const struct mailbox *m)
{
	return atomic_load_explicit(&m->put, memory_order_relaxed) -
	    atomic_load_explicit(&m->taken, memory_order_acquire) < SLOTS;
}

void mailbox_put(struct mailbox *m, void *object)
{
	const unsigned at = atomic_load_explicit(&m->put, memory_order_relaxed);
	const uint64_t one = 1;

	assert(mailbox_has_room(m));
	m->slots[at % SLOTS] = object;
	/* in one order with the bell */
	atomic_store(&m->put, at + 1);
	if (!atomic_exchange(&m->rung, true))
		(void)!write(m->fd, &one, sizeof one);
}
