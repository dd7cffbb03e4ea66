/* relay_reset.h - RESET gives a client the values that it has brought along.
 *
 * client.start are these, NULL if they are the pool's; client.resets has a bit
 * for each that is to be given back.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_RESET_H
#define SESSION_RELAY_RESET_H

#include <stdbool.h>

/* A RESET, from its query to the end of what it takes. */
enum resetting {
	RESET_NONE,
	RESET_ASKED,	/* its query is on the way */
	RESET_DONE,	/* it has succeeded, unless its query fails */
	RESET_DUE,	/* the client was told; its server is to be */
	RESET_GUESSED,	/* as DONE; of what is told by what has changed */
};

struct relay_down;
struct relay_up;

/*
 * A Query comes that resets such values, and what came before it is not all
 * answered: what that changes must be told apart.
 */
bool relay_reset_waits(const struct relay_up *up);
/*
 * A Query comes. Does it reset values that the client has brought along? Then
 * that is noted, and what comes behind it has to wait.
 */
bool relay_reset_asked(const struct relay_up *up);

/*
 * A whole CommandComplete: may values have changed that the server does not
 * report? They are unknown from now on. 0, or -1: no memory.
 */
int relay_reset_silent(const struct relay_down *d);
/* Is it that of a RESET, or of a DISCARD ALL? */
void relay_reset_tag(const struct relay_down *d);
/*
 * The server's value i has changed, which is noted: is it none for the client?
 * The end of the query tells it what it has.
 */
bool relay_reset_hides(const struct relay_down *d, int i);
/* An error takes back what the transaction has done. */
void relay_reset_failed(const struct relay_down *d);
/*
 * ReadyForQuery is to be passed on, for the last of all that is owed if
 * answered: tell the client of its values before. Those of a server that it
 * keeps are then RESET_DUE. 0, or -1: no memory.
 */
int relay_reset_end(struct relay_down *d, bool answered);

#endif
