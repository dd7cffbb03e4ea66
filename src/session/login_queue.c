/* login_queue.c - logins take turns, so that a storm of them delays nobody else.
 * SPDX-License-Identifier: ISC */
#include "session/login_queue.h"

#include <stddef.h>
#include <utlist.h>

#include "base/container.h"
#include "base/time.h"
#include "session/login_parts.h"

/* After the events of the turn, and all that they have woken. */
static void run(struct loop_task *t)
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
	*q = (struct login_queue){ .task = { .run = run }, .loop = l };
}

void login_queue_add(struct login_queue *q, struct login *l)
{
	if (l->queued)
		return;
	l->queued = true;
	DL_APPEND(q->first, l);
	loop_again(q->loop, &q->task);
}

void login_queue_remove(struct login_queue *q, struct login *l)
{
	if (!l->queued)
		return;
	l->queued = false;
	DL_DELETE(q->first, l);
}
