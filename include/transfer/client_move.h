/* client_move.h - a client goes on at another worker, between two transactions.
 *
 * What it has of its worker is its place in lists, and texts of the tables of
 * parameters and statements. These go along as bytes, and are made anew there.
 * Its cancel key and id stay, and so do its places under limits. (doc/workers.md)
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_CLIENT_MOVE_H
#define TRANSFER_CLIENT_MOVE_H

#include <stdbool.h>

#include "base/time.h"

struct client;
struct sessions;

/* Is c, which has logged in, between two transactions, with nothing under way? */
bool client_may_leave(const struct client *c);
/* Has c said something since it came here? And how long ago was that? */
bool client_has_worked(const struct client *c);
usec_t client_here_for(const struct client *c, usec_t now);
/*
 * At the end of a turn: c, which may leave, is not ours any more, and client_ops
 * has mailed it. False: there is no room, no memory, or c has more texts than are
 * carried; it stays as it is.
 */
bool client_depart(struct client *c, unsigned to);
/*
 * On the thread of ss, or in a hold: c goes on in its pool, and is read once; where
 * there is no such pool it goes home, and at home it is closed.
 */
void client_arrive(struct sessions *ss, struct client *c);

#endif
