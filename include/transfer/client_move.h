/* client_move.h - a client moves to another worker, between two transactions.
 *
 * Its place in lists, and the texts that it shares with others in the tables of
 * parameters and statements, belong to its worker. The texts travel as bytes
 * and are created again. Its cancel key, its id and its places under limits
 * stay. (doc/workers.md)
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_CLIENT_MOVE_H
#define TRANSFER_CLIENT_MOVE_H

#include <stdbool.h>

#include "base/time.h"

struct client;
struct sessions;

/*
 * Is c, which has logged in, between two transactions, with nothing under way?
 */
bool client_may_leave(const struct client *c);
/* Has c sent something since it came here? */
bool client_has_worked(const struct client *c);
usec_t client_here_for(const struct client *c, usec_t now);
/*
 * To be called at the end of a turn, for a client that may leave. True:
 * client_ops has mailed c; do not touch it any more. False: c stays as it is,
 * because there is no room or no memory, or because c has too many texts.
 */
bool client_depart(struct client *c, unsigned to);
/*
 * Takes c into its pool, and reads it once. To be called on the thread of ss,
 * or in a hold. If there is no such pool, c goes to the home of its database,
 * and is closed if this is the home.
 */
void client_arrive(struct sessions *ss, struct client *c);

#endif
