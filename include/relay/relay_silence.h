/* relay_silence.h - a server that is silent, a client that has left.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_SILENCE_H
#define RELAY_RELAY_SILENCE_H

#include <stdbool.h>

#include "base/time.h"

struct client;
struct server;

/*
 * c is linked, and has hung up while the pooler did not read it. True: it has sent
 * nothing that could still run, so it can be closed at once.
 */
bool relay_has_hung_up(const struct client *c);

/*
 * Call it from time to time: closes the pair if one of the two is gone, or if an
 * answer was lost. limit: silence after which the server is asked; 0: never.
 */
void relay_look_at(struct client *c, struct server *s, usec_t limit);

#endif
