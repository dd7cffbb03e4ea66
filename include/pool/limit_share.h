/* limit_share.h - what workers have together of a user, database or pool.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LIMIT_SHARE_H
#define POOL_LIMIT_SHARE_H

#include <stdbool.h>

#include "base/time.h"
#include "pool/limit_queue.h"

struct ledger;
struct ledger_book;

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
