/* mailbox.c - threads give objects to the loop of another.
 * SPDX-License-Identifier: ISC */
#include "io/mailbox.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/os.h"
#include "io/loop.h"

#define SLOTS 1024	/* a power of two */

/* Of one sender. */
struct slots {
	atomic_uint put, taken;		/* objects so far; both wrap */
	void *at[SLOTS];
};

struct mailbox {
	void (*fn)(void *arg, void *object);
	void *arg;
	struct loop_watch *watch;	/* owned */
	struct os_wake wake;
	atomic_bool rung;	/* wake was called, and not taken yet */
	unsigned senders;
	struct slots of[];	/* each of them */
};

static bool take_from(struct mailbox *m, struct slots *s)
{
	bool any = false;
	unsigned at;

	while ((at = atomic_load_explicit(&s->taken, memory_order_relaxed)) !=
	    atomic_load(&s->put)) {
		void *const object = s->at[at % SLOTS];

		atomic_store_explicit(&s->taken, at + 1, memory_order_release);
		m->fn(m->arg, object);
		any = true;
	}
	return any;
}

static bool take_all(struct mailbox *m)
{
	bool any = false;

	for (unsigned i = 0; i < m->senders; i++)
		any = take_from(m, &m->of[i]) || any;
	return any;
}

bool mailbox_deliver(struct mailbox *m)
{
	return take_all(m);
}

static void on_bell(void *arg)
{
	struct mailbox *const m = arg;

	os_wake_take(&m->wake);
	/* objects put from here on ring again */
	atomic_store(&m->rung, false);
	take_all(m);
}

struct mailbox *mailbox_new(struct loop *to, unsigned senders,
    void (*fn)(void *, void *), void *arg)
{
	struct mailbox *m = mem_zalloc(sizeof *m + senders * sizeof m->of[0]);

	if (m == NULL)
		return NULL;
	m->fn = fn;
	m->arg = arg;
	m->senders = senders;
	if (os_wake_open(&m->wake) == 0)
		m->watch = loop_watch(to, m->wake.fd, on_bell, m);
	if (m->watch != NULL)
		return m;
	os_wake_close(&m->wake);
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
	os_wake_close(&m->wake);
	mem_free(m);
}

bool mailbox_has_room(const struct mailbox *m, unsigned sender)
{
	const struct slots *const s = &m->of[sender];

	return atomic_load_explicit(&s->put, memory_order_relaxed) -
	    atomic_load_explicit(&s->taken, memory_order_acquire) < SLOTS;
}

void mailbox_put(struct mailbox *m, unsigned sender, void *object)
{
	struct slots *const s = &m->of[sender];
	const unsigned at = atomic_load_explicit(&s->put, memory_order_relaxed);

	assert(mailbox_has_room(m, sender));
	s->at[at % SLOTS] = object;
	/* in one order with the bell */
	atomic_store(&s->put, at + 1);
	if (!atomic_exchange(&m->rung, true))
		os_wake_call(&m->wake);
}
