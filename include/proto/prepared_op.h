/* prepared_op.h - what a request in flight will have changed; see track_ops.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PREPARED_OP_H
#define PROTO_PREPARED_OP_H

#include "proto/prepared.h"

enum prepared_change {
	PREPARED_NAMED = 1,	/* the client's map got name -> stmt */
	PREPARED_UNNAMED = 2,	/* the client's map lost name */
	PREPARED_USED = 4,	/* the server's list got stmt */
	PREPARED_UNUSED = 8,	/* the server's list lost stmt */
	PREPARED_REFUSED = 16,	/* nothing; we report the failure */
	PREPARED_UNKNOWN = 32,	/* nothing; fails: no such name */
	PREPARED_TAKEN = 64,	/* nothing; fails: there is one of that name */
	PREPARED_MOVED = 128,	/* name stands for another one than stmt */
	PREPARED_CHANGED = 256,	/* nothing; fails: it has other columns */
	PREPARED_TOLD = 512,	/* the client is told the shape of stmt */
	PREPARED_ASKED = 1024,	/* the shape of stmt is known by then */
	PREPARED_FIRST = 2048,	/* ... and nothing of a batch is ahead of it */
};
struct prepared_op {
	unsigned changes;		/* of enum prepared_change */
	struct prepared *stmt;		/* counted; NULL: nothing to undo */
	struct prepared_shape shape;	/* of a name, or use, that is undone: as
					 * it was; else what stmt turned out
					 * to have */
	char name[];			/* the client's */
};
struct prepared_op *prepared_op_new(unsigned changes, struct prepared *stmt,
    const char *name);
/* The same of a name that its client will have lost, or that stands for another. */
struct prepared_op *prepared_op_of(unsigned changes,
    const struct prepared_name *n);
/* op has come true: what it says of the shape of a statement is known. */
void prepared_op_tell(const struct prepared_op *op, struct slots *map,
    struct prepared_uses *uses);
void prepared_op_free(struct prepared_op *op);
/* Do op (again), as after DISCARD ALL took everything. 0 or -1. */
int prepared_op_redo(const struct prepared_op *op, struct slots **map,
    struct prepared_uses *uses);
/* Undo op in the map (NULL: the client is gone) and the list. */
void prepared_op_undo(struct prepared_op *op, struct slots **map,
    struct prepared_uses *uses);

#endif
