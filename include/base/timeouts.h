/* timeouts.h - time-outs without timers: FIFO lists in order of start.
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

#endif
