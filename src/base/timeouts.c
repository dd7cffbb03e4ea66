/* timeouts.c - time-outs without timers: lists in order of start, and a wheel
 * of what is due.
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

/* --- rings of links, each with a head that is no node --- */

static void timeouts_ring_init(struct wheel_link *head)
{
	head->prev = head->next = head;
}

static void ring_append(struct wheel_link *head, struct wheel_link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static void ring_delete(struct wheel_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

/* All of from go behind what is in to. */
static void ring_move(struct wheel_link *to, struct wheel_link *from)
{
	if (from->next == from)
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	timeouts_ring_init(from);
}

static struct wheel_node *node_of(struct wheel_link *l)
{
	return (struct wheel_node *)l;
}

/* --- the wheel --- */

void wheel_init(struct wheel *w, usec_t grain, usec_t now)
{
	w->grain = grain;
	w->at = now / grain;
	timeouts_ring_init(&w->soon);
	timeouts_ring_init(&w->ready);
	for (int i = 0; i < WHEEL_SLOTS; i++)
		timeouts_ring_init(&w->slots[i]);
}

static struct wheel_link *slot(struct wheel *w, int64_t number)
{
	return &w->slots[(uint64_t)number % WHEEL_SLOTS];
}

void wheel_add(struct wheel *w, struct wheel_node *n)
{
	n->wheel = w;
	n->due = 0;
	ring_append(&w->soon, &n->link);
}

void wheel_remove(struct wheel_node *n)
{
	if (n->wheel != NULL && n->due != WHEEL_NEVER)
		ring_delete(&n->link);
	n->wheel = NULL;
	n->due = 0;
}

void wheel_hasten(struct wheel_node *n, usec_t due)
{
	if (due >= n->due)
		return;
	struct wheel *const w = n->wheel;
	const int64_t number = due / w->grain;

	if (n->due != WHEEL_NEVER)
		ring_delete(&n->link);
	n->due = due;
	/* a slot that the wheel has passed comes round too late */
	ring_append(number < w->at ? &w->soon : slot(w, number), &n->link);
}

static void turn_slot(struct wheel *w, int64_t number, usec_t now)
{
	struct wheel_link *const head = slot(w, number);

	for (struct wheel_link *l = head->next, *next; l != head; l = next) {
		next = l->next;
		if (node_of(l)->due > now)
			continue;
		ring_delete(l);
		ring_append(&w->ready, l);
	}
}

void wheel_turn(struct wheel *w, usec_t now)
{
	const int64_t last = now / w->grain;
	int64_t number = w->at;

	ring_move(&w->ready, &w->soon);
	/* after a long pause each slot once */
	if (last - number >= WHEEL_SLOTS)
		number = last - WHEEL_SLOTS + 1;
	/* the last slot again next time: its time is not over */
	for (; number <= last; number++)
		turn_slot(w, number, now);
	w->at = last;
}

struct wheel_node *wheel_take(struct wheel *w)
{
	struct wheel_link *const l = w->ready.next;

	if (l == &w->ready)
		return NULL;
	ring_delete(l);
	node_of(l)->due = WHEEL_NEVER;
	return node_of(l);
}
