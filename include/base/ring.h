/* ring.h - records from one thread to another, without a lock.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One thread puts, one takes; which counts from 0 and never wraps. */
struct ring {
	char *at;		/* owned */
	size_t size;		/* a power of two */
	atomic_size_t head;	/* bytes put */
	atomic_size_t tail;	/* bytes taken */
};

/* size: a power of two. 0, or -1 (no memory). */
int ring_init(struct ring *r, size_t size);
void ring_fini(struct ring *r);

/* A tag of the caller's choice and n bytes; false: there is no room. */
bool ring_put(struct ring *r, int tag, const void *p, size_t n);

/* For the reader, the writer, and other threads. */
bool ring_is_empty(const struct ring *r);
/* The oldest record's length and tag; false: there is none. */
bool ring_peek(const struct ring *r, int *tag, size_t *n);
/* Copy the record's n bytes (see ring_peek()) into buf, and free its room. */
void ring_take(struct ring *r, void *buf, size_t n);

#endif
