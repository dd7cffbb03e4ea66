/* timeouts.c - time-outs without timers: FIFO lists in order of start.
 * SPDX-License-Identifier: ISC */
#include "base/timeouts.h"

#include <stddef.h>
#include <utlist.h>

#define MOST 32		/* in one run: thousands may expire at once */
#define MOST_LOOKED_AT 1000	/* where they stand in no order */

void timeout_list_init(struct timeout_list *l,
    void (*expired)(struct timeout *, void *), void *arg)
{
	*l = (struct timeout_list){ .expired = expired, .arg = arg };
}

void timeout_stop(struct timeout *t)
{
	struct timeout_list *const l = t->list;

	if (l == NULL)
		return;
	DL_DELETE(l->head, t);
	l->count--;
	t->prev = t->next = NULL;
	t->list = NULL;
}

void timeout_start(struct timeout_list *l, struct timeout *t, usec_t now)
{
	timeout_stop(t);
	t->since = now;
	t->list = l;
	DL_APPEND(l->head, t);
	l->count++;
}

/* No place is looked for: thousands may have been started since. */
void timeout_resume(struct timeout_list *l, struct timeout *t)
{
	l->mixed = l->head != NULL &&
	    (l->mixed || l->head->prev->since > t->since);
	t->list = l;
	DL_APPEND(l->head, t);
	l->count++;
}

static void put_last(struct timeout_list *l, struct timeout *t)
{
	DL_DELETE(l->head, t);
	DL_APPEND(l->head, t);
}

bool timeout_list_run(struct timeout_list *l, usec_t limit, usec_t now)
{
	if (limit <= 0)
		return false;

	/* time-outs started by callbacks wait for the next run: no loop */
	const unsigned max = l->mixed ? MOST_LOOKED_AT : MOST;
	const unsigned most = l->count < max ? l->count : max;
	unsigned expired = 0;

	for (unsigned n = most; n > 0 && expired < MOST; n--) {
		struct timeout *const t = l->head;

		if (t == NULL)
			return false;
		if (time_age(t->since, now) > limit) {
			expired++;
			timeout_stop(t);
			l->expired(t, l->arg);
		} else if (l->mixed) {
			put_last(l, t);
		} else {
			return false;
		}
	}
	return expired == MOST || most == max;
}
