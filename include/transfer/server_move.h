/* server_move.h - an idle server moves to the same pool on another worker.
 *
 * It moves at the end of a turn, and clean. Its place in lists, and the texts
 * that it shares with others in the tables of parameters and statements, belong
 * to its worker. The texts travel as bytes and are created again. Its places
 * under limits stay.
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_SERVER_MOVE_H
#define TRANSFER_SERVER_MOVE_H

#include <stdbool.h>

struct parcel;		/* a server on its way */
struct pool;
struct server;
struct sessions;

/* May s, which was released, leave this worker? */
bool server_may_leave(const struct server *s);
/*
 * To be called at the end of a turn, for a server that may leave. True:
 * client_ops has mailed s; do not touch it any more. False: without room or
 * memory, s stays as it is. If it has too many texts, it is closed unless it is
 * new.
 */
bool server_depart(struct server *s, unsigned to);
/*
 * Takes a server: it becomes idle in its pool, or is closed for a reason that
 * came on the way. To be called on the thread of ss, or in a hold. Returns the
 * pool, whose clients may wait for it. NULL: no such pool here, so the server
 * goes to its home or is closed.
 */
struct pool *server_arrive(struct sessions *ss, struct parcel *p);

#endif
