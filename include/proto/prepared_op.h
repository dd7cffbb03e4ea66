/* prepared_op.h - prepared statements at the end of a request, and the settings
 * that they were parsed under.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PREPARED_OP_H
#define PROTO_PREPARED_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/prepared.h"

struct baggage;
struct params;

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
	PREPARED_WAS = 4096,	/* nothing; name stood for stmt up to here */
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

/*
 * What a statement was parsed under.
 *
 * What a Parse finds out is right for all who would find out the same: with
 * the same settings, and the same schemas.
 */

struct prepared_world {
	struct params *params;		/* counted */
	struct baggage *baggage;	/* counted; or NULL */
	uint64_t changes;		/* of schemas, until it was sent */
};

/* One as w, with references of its own. NULL: no memory. */
struct prepared_world *prepared_world_new(const struct prepared_world *w);
void prepared_world_free(struct prepared_world **w);
/* Is now the same, whatever application_name says? */
bool prepared_world_is(struct prepared_world *w,
    const struct prepared_world *now);
/* The same of these alone. */
bool prepared_world_params(const struct params *a, const struct params *b);

#endif
