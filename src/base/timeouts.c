/* timeouts.c - time-outs without timers: FIFO lists in order of start.
 * SPDX-License-Identifier: ISC */
#include "base/timeouts.h"

#include <stddef.h>
#include <utlist.h>

#define MOST 32		/* in one run: thousands may expire at once */

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

void timeout_resume(struct timeout_list *l, struct timeout *t)
{
	struct timeout *before = l->head == NULL ? NULL : l->head->prev;

	/* few have been started since, as a rule */
	while (before != NULL && before->since > t->since)
		before = before == l->head ? NULL : before->prev;
	t->list = l;
	DL_APPEND_ELEM(l->head, before, t);
	l->count++;
}

bool timeout_list_run(struct timeout_list *l, usec_t limit, usec_t now)
{
	if (limit <= 0)
		return false;

	/* time-outs started by callbacks wait for the next run: no loop */
	const unsigned most = l->count < MOST ? l->count : MOST;

	for (unsigned n = most; n > 0; n--) {
		struct timeout *const t = l->head;

		if (t == NULL || time_age(t->since, now) <= limit)
			return false;
		timeout_stop(t);
		l->expired(t, l->arg);
	}
	return most == MOST;
}
