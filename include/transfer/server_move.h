/* server_move.h - an idle server goes to the same pool of another worker.
 *
 * At the end of a turn, and clean: then what it has of its worker is its place in
 * lists, and texts of the tables of parameters and statements. These go along as
 * bytes, and are made anew there. Its slots of limits go along, too.
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_SERVER_MOVE_H
#define TRANSFER_SERVER_MOVE_H

#include <stdbool.h>

struct parcel;		/* one that is on its way */
struct pool;
struct server;
struct sessions;

/* Has s, which was released, nothing that ties it to this worker? */
bool server_may_leave(const struct server *s);
/*
 * At the end of a turn: s, which may leave, is not ours any more, and client_ops
 * has mailed it. False: there is no room, or no memory, and s stays as it is; or it
 * has more texts than are carried, and unless it is new it is closed.
 */
bool server_depart(struct server *s, unsigned to);
/*
 * On the thread of ss, or in a hold: it is idle in its pool, or closed by the end
 * of what came on the way. Returns the pool, which may have clients for it. NULL:
 * there is no such pool here; it goes to its home, or is closed.
 */
struct pool *server_arrive(struct sessions *ss, struct parcel *p);

#endif
