/* limit_queue.h - the limits of a user, a database and a pool: shares, queues.
 *
 * A heap in order of the longest wait. Time only makes the oldest waiter of a
 * pool younger, so places are set right when somebody asks who is first, and
 * a client that comes or goes costs nothing.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LIMIT_QUEUE_H
#define POOL_LIMIT_QUEUE_H

#include <stdbool.h>

#include "base/time.h"

struct ledger;
struct ledger_book;
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

/* What workers have together of a user, database or pool. */

/* Embedded in struct user, database and pool. */
struct limit_share {
	struct ledger *ledger;	/* owned: of all workers; NULL: there is one */
	enum limit_kind kind;		/* of what it is */
	bool promised;			/* taken off it for the next server */
	usec_t called_at;	/* who may have servers to spare; see limit.h */
};

/*
 * One for this worker, which has servers of it from now on. The name is of a
 * user, or of a database, or of the database of the pool of user. 0, or -1: no memory.
 */
struct limit_name {
	const char *name, *user;	/* user NULL: not of a pool */
};
int limit_share_open(struct limit_share *s, struct ledger_book *book,
    unsigned worker, struct limit_name of);
/* Nothing that was taken through it is left, or nobody else has one. */
void limit_share_close(struct limit_share *s);

#endif
