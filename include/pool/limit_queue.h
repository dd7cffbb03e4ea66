/* limit_queue.h - the pools whose clients wait for room under a limit.
 *
 * A heap in order of the longest wait. Time only makes the oldest waiter of a
 * pool younger, so places are set right when somebody asks who is first, and
 * a client that comes or goes costs nothing.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LIMIT_QUEUE_H
#define POOL_LIMIT_QUEUE_H

#include "base/time.h"

struct pool;

enum limit_kind {
	LIMIT_DB,	/* max_db_connections */
	LIMIT_USER,	/* max_user_connections */
	LIMIT_KINDS,
	LIMIT_POOL = LIMIT_KINDS,	/* pool_size, over its parts: no queue */
	LIMIT_SHARES
};

/* Where a pool stands in a queue; embedded in it, private to limit_queue.c. */
struct limit_queue_place {
	usec_t since;			/* not later than its oldest waiter's */
	unsigned at;			/* from 1; 0 = not in it */
};

/* Embedded in struct database and struct user; private to limit_queue.c. */
struct limit_queue {
	struct pool **heap;		/* owned; room for all members */
	unsigned count, size, members;
	enum limit_kind kind;
};

/* One more, or less, pool may stand in it. 0, or -1: no memory. */
int limit_queue_enroll(struct limit_queue *l);
void limit_queue_dismiss(struct limit_queue *l, struct pool *p);
void limit_queue_fini(struct limit_queue *l);

/* Enter it (again), and out of it; nothing happens if that is so. */
void limit_queue_add(struct limit_queue *l, struct pool *p);
void limit_queue_remove(struct limit_queue *l, struct pool *p);

/* The pool whose oldest waiter waits longest; NULL: nobody waits. */
struct pool *limit_queue_first(struct limit_queue *l);

#endif
