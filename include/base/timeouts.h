/* timeouts.h - time-outs without timers: lists in order of start, and a wheel
 * of what is due.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_TIMEOUTS_H
#define BASE_TIMEOUTS_H

#include <stdbool.h>

#include "base/time.h"

/* Embedded in what can time out; private to timeouts.c but for since. */
struct timeout {
	struct timeout *prev, *next; /* next NULL and prev NULL: not listed */
	usec_t since;		     /* when it was started */
	struct timeout_list *list;   /* NULL: not running */
};

/* All members have the same duration, so the head is the oldest. */
struct timeout_list {
	struct timeout *head; /* utlist DL list */
	unsigned count;
	bool mixed;	/* it may not be, as one was resumed: all are looked at */
	void (*expired)(struct timeout *t, void *arg); /* t is stopped */
	void *arg;
};

void timeout_list_init(struct timeout_list *l,
    void (*expired)(struct timeout *, void *), void *arg);

/* (Re)start t at time now, at the tail of l; leaves the list it was in. */
void timeout_start(struct timeout_list *l, struct timeout *t, usec_t now);
void timeout_stop(struct timeout *t);
/* Go on, in l, with one that was stopped: what it has used up counts. */
void timeout_resume(struct timeout_list *l, struct timeout *t);
static inline bool timeout_running(const struct timeout *t)
{
	return t->list != 0;
}

/*
 * Stop and report the members started more than limit before now, oldest
 * first; limit <= 0 means off. The callback may start and stop any member.
 * Of very many only a part: returns whether more are left, perhaps.
 */
bool timeout_list_run(struct timeout_list *l, usec_t limit, usec_t now);

/*
 * Things that are due at a time of their own.
 *
 * A hashed timing wheel: putting in, taking out and putting off cost the same
 * however many there are, and what is not due soon is hardly ever looked at.
 * Times are met to a grain, never too early.
 */

#define WHEEL_NEVER INT64_MAX
#define WHEEL_SLOTS 256

struct wheel_link {
	struct wheel_link *prev, *next;
};

/*
 * Embedded in an object that becomes due. due 0: in the next turn; WHEEL_NEVER:
 * the node is in no list. A node of all zeros belongs to no wheel, and nothing
 * brings it there.
 */
struct wheel_node {
	struct wheel_link link;		/* first: private to timeouts.c */
	struct wheel *wheel;		/* borrowed */
	usec_t due;
};

/* Private to timeouts.c. */
struct wheel {
	usec_t grain;			/* a slot is so long */
	int64_t at;			/* the slot of the latest turn */
	struct wheel_link soon;		/* for the next turn, whatever its time */
	struct wheel_link ready;	/* due */
	struct wheel_link slots[WHEEL_SLOTS];
};

void wheel_init(struct wheel *w, usec_t grain, usec_t now);

/* n is new, or out of its wheel: have it looked at in the next turn. */
void wheel_add(struct wheel *w, struct wheel_node *n);
/* n is going. */
void wheel_remove(struct wheel_node *n);

/* n is due at that time, if not sooner. */
void wheel_hasten(struct wheel_node *n, usec_t due);

/* n is due in the next turn. */
static inline void wheel_wake(struct wheel_node *n)
{
	if (n->due != 0)
		wheel_hasten(n, 0);
}

/* The time is now: see which members are due. */
void wheel_turn(struct wheel *w, usec_t now);
/*
 * The next node that is due, in the order in which nodes became due; NULL: no
 * more in this turn. Its due is WHEEL_NEVER then. Nodes that are left stay due
 * in the next turn.
 */
struct wheel_node *wheel_take(struct wheel *w);

#endif
