/* line.h - the pools whose clients wait for room under a limit.
 *
 * A heap in order of the longest wait. Time only makes the oldest waiter of a
 * pool younger, so places are set right when somebody asks who is first, and
 * a client that comes or goes costs nothing.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LINE_H
#define POOL_LINE_H

#include "base/time.h"

struct pool;

enum line_kind {
	LINE_DB,	/* max_db_connections */
	LINE_USER,	/* max_user_connections */
	LINES
};

/* Where a pool stands in a line; embedded in it, private to line.c. */
struct line_place {
	usec_t since;			/* not later than its oldest waiter's */
	unsigned at;			/* from 1; 0 = not in line */
};

/* Embedded in struct database and struct user; private to line.c. */
struct line {
	struct pool **heap;		/* owned; room for all members */
	unsigned count, size, members;
	enum line_kind kind;
};

/* One more, or less, pool may stand in it. 0, or -1: no memory. */
int line_enroll(struct line *l);
void line_dismiss(struct line *l, struct pool *p);
void line_fini(struct line *l);

/* Get in line (again), and out of it; nothing happens if that is so. */
void line_add(struct line *l, struct pool *p);
void line_remove(struct line *l, struct pool *p);

/* Whose oldest waiter waits longest; NULL: nobody waits. */
struct pool *line_first(struct line *l);

#endif
