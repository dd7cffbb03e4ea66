/* ring.c - records from one thread to another, without a lock.
 * SPDX-License-Identifier: ISC */
#include "base/ring.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* In front of each record. */
struct mark {
	size_t len;
	int tag;
};

int ring_init(struct ring *r, size_t size)
{
	assert((size & (size - 1)) == 0);
	*r = (struct ring){ .at = mem_alloc(size), .size = size };
	return r->at == NULL ? -1 : 0;
}

void ring_fini(struct ring *r)
{
	mem_free(r->at);
	r->at = NULL;
}

/* How many of n bytes from pos on are in one piece. */
static size_t piece(const struct ring *r, size_t pos, size_t n)
{
	const size_t left = r->size - (pos & (r->size - 1));

	return n < left ? n : left;
}

static void copy_in(struct ring *r, size_t pos, const void *p, size_t n)
{
	const size_t first = piece(r, pos, n);

	memcpy(r->at + (pos & (r->size - 1)), p, first);
	memcpy(r->at, (const char *)p + first, n - first);
}

static void copy_out(const struct ring *r, size_t pos, void *p, size_t n)
{
	const size_t first = piece(r, pos, n);

	memcpy(p, r->at + (pos & (r->size - 1)), first);
	memcpy((char *)p + first, r->at, n - first);
}

bool ring_put(struct ring *r, int tag, const void *p, size_t n)
{
	const struct mark m = { .len = n, .tag = tag };
	const size_t head = atomic_load_explicit(&r->head,
	    memory_order_relaxed);
	const size_t used = head - atomic_load_explicit(&r->tail,
	    memory_order_acquire);

	if (n > r->size || r->size - used < n + sizeof m)
		return false;
	copy_in(r, head, &m, sizeof m);
	copy_in(r, head + sizeof m, p, n);
	/* in one order with the flag of a reader who is about to sleep */
	atomic_store(&r->head, head + sizeof m + n);
	return true;
}

bool ring_is_empty(const struct ring *r)
{
	return atomic_load(&r->head) == atomic_load(&r->tail);
}

bool ring_peek(const struct ring *r, int *tag, size_t *n)
{
	const size_t tail = atomic_load_explicit(&r->tail,
	    memory_order_relaxed);
	struct mark m;

	if (atomic_load(&r->head) == tail)
		return false;
	copy_out(r, tail, &m, sizeof m);
	*tag = m.tag;
	*n = m.len;
	return true;
}

void ring_take(struct ring *r, void *buf, size_t n)
{
	const size_t tail = atomic_load_explicit(&r->tail,
	    memory_order_relaxed) + sizeof(struct mark);

	copy_out(r, tail, buf, n);
	atomic_store_explicit(&r->tail, tail + n, memory_order_release);
}
