/* lobby_workers.h - guests of several workers, who go from one to another.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LOBBY_WORKERS_H
#define POOL_LOBBY_WORKERS_H

#include "pool/lobby.h"

/*
 * l is the next worker's, whose guests count as those of first; call(arg) has it
 * close whom lobby_take_expelled() says. Before there is another thread.
 */
void lobby_share(struct lobby *first, struct lobby *l);
void lobby_on_call(struct lobby *l, void (*call)(void *arg), void *arg);
/* The worker with the fewest guests, one of l's left out; in doubt l's own. */
unsigned lobby_emptiest(struct lobby *l);
/* g goes to that worker, and keeps its place. False: it was expelled. */
bool lobby_send(struct lobby *l, struct lobby_guest *g, unsigned worker);
/* It is there. False: it was expelled meanwhile, and is to be closed. */
bool lobby_arrive(struct lobby *l, struct lobby_guest *g);
/* Whom others have expelled from this worker: one by one; NULL: no more. */
struct lobby_guest *lobby_take_expelled(struct lobby *l);
/* Is g to be closed, as another worker has expelled it? */
bool lobby_is_expelled(struct lobby *l, const struct lobby_guest *g);
/* Is nobody there, at no worker and on no way to one? */
bool lobby_is_empty(struct lobby *l);
/* How many of all workers are expelled, and not closed yet. */
unsigned lobby_leaving(struct lobby *l);

#endif
