/* login_queue.c - logins take turns, so that a storm of them delays nobody
 * else.
 * SPDX-License-Identifier: ISC */
#include "login/login_queue.h"

#include <stddef.h>
#include <utlist.h>

#include "base/container.h"
#include "base/time.h"
#include "login/login_parts.h"

enum place { IN_NONE, IN_TURN, IN_PUT_OFF };

static struct login **list_of(struct login_queue *q, enum place at)
{
	return at == IN_PUT_OFF ? &q->put_off : &q->first;
}

/* After the events of the turn, and all that they have woken. */
static void login_queue_run(struct loop_task *t)
{
	struct login_queue *q = container_of(t, struct login_queue, task);
	const usec_t end = time_precise() + LOGIN_TURN;

	while (q->first != NULL) {
		struct login *l = q->first;

		login_queue_remove(q, l);
		l->work(l->client);
		if (time_precise() >= end)
			break;
	}
	if (q->first != NULL)
		loop_again(q->loop, &q->task);
}

void login_queue_init(struct login_queue *q, struct loop *l)
{
	*q = (struct login_queue){ .task = { .run = login_queue_run },
		.loop = l };
}

static void login_queue_append(struct login_queue *q, struct login *l,
    enum place at)
{
	struct login **const list = list_of(q, at);

	if (l->queued != IN_NONE)
		return;
	l->queued = (uint8_t)at;
	DL_APPEND(*list, l);
}

void login_queue_add(struct login_queue *q, struct login *l)
{
	login_queue_append(q, l, IN_TURN);
	loop_again(q->loop, &q->task);
}

void login_queue_remove(struct login_queue *q, struct login *l)
{
	struct login **const list = list_of(q, l->queued);

	if (l->queued == IN_NONE)
		return;
	l->queued = IN_NONE;
	DL_DELETE(*list, l);
}

void login_queue_put_off(struct login_queue *q, struct login *l)
{
	login_queue_append(q, l, IN_PUT_OFF);
}

void login_queue_tick(struct login_queue *q)
{
	struct login *l;

	while ((l = q->put_off) != NULL) {
		login_queue_remove(q, l);
		login_queue_add(q, l);
	}
}
