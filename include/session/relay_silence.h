/* relay_silence.h - a server that is silent, a client that has left.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_SILENCE_H
#define SESSION_RELAY_SILENCE_H

#include <stdbool.h>

#include "base/time.h"

struct client;
struct server;

/*
 * c, linked, has hung up while it was not read. Has it said nothing that could
 * still get its turn? Then it can be closed at once.
 */
bool relay_has_hung_up(const struct client *c);

/*
 * From time to time, of a pair: is one of them gone, or has an answer been lost?
 * Then both are closed. limit: of silence, until the server is asked; 0: never.
 */
void relay_look_at(struct client *c, struct server *s, usec_t limit);

#endif
