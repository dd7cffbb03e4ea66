/* login_queue.h - logins take turns, so that a storm of them delays nobody
 * else.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_QUEUE_H
#define LOGIN_LOGIN_QUEUE_H

#include "io/loop.h"

struct login;
struct loop;

/*
 * Logins whose bytes wait to be read, oldest first. A TLS handshake costs a
 * thousand times what a query costs: done as they come, those of two thousand
 * clients would be one turn of seconds. So what clients and servers that are
 * linked have sent is passed on first, and then logins are worked on till
 * LOGIN_TURN is over; the others wait for the next turn, in front of any that
 * come later. A query meets a turn of logins on its way to the server and one
 * on the way back, at worst.
 */
struct login_queue {
	struct loop_task task;		/* private to login_queue.c, all of it */
	struct loop *loop;		/* borrowed */
	struct login *first;		/* DL list */
	struct login *put_off;		/* ... of those who wait for a tick */
};

#define LOGIN_TURN (3 * USEC / 1000)	/* once begun, a step is finished */

void login_queue_init(struct login_queue *q, struct loop *l);
/* Have l->work() called, in this turn or a later one; or not. */
void login_queue_add(struct login_queue *q, struct login *l);
void login_queue_remove(struct login_queue *q, struct login *l);
/* Its work can't be done, and nothing tells when it can: again with the next tick. */
void login_queue_put_off(struct login_queue *q, struct login *l);
void login_queue_tick(struct login_queue *q);

#endif
