/* relay_reset.h - RESET gives a client the values that it has brought along.
 *
 * See relay_state: start, resets and resetting are this module's.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_RESET_H
#define RELAY_RELAY_RESET_H

#include <stdbool.h>
#include <stdint.h>

#include "relay/relay_parts.h"

struct prepared;

/*
 * A Query comes that resets such values, and what came before it is not all
 * answered: what that changes must be told apart.
 */
bool relay_reset_waits(struct relay_up *up);
/*
 * A Query comes. Does it reset values that the client has brought along? Then
 * that is noted, and what comes behind it has to wait.
 */
bool relay_reset_asked(struct relay_up *up);

/*
 * A Parse comes, and the server gets to know it by the client's name: its text is
 * remembered if it may reset. Not RELAY_NEXT: it waits, or there is no memory.
 */
enum relay_step relay_reset_parse(struct relay_up *up);
/* The same of the Bind at hand, whose statement may have been such a one. */
enum relay_step relay_reset_bind(struct relay_up *up);
/* The same of a Bind of stmt, which may reset; values: behind both names. */
enum relay_step relay_reset_bind_named(struct relay_up *up,
    const struct prepared *stmt, const uint8_t *values);
/* The same of the FunctionCall at hand. */
enum relay_step relay_reset_call(struct relay_up *up);
/* Does what comes, of c, have to be looked at? */
static inline bool relay_reset_looks(const struct client *c)
{
	return c->relay.resetting != RESET_NONE || c->relay.texts != NULL;
}

/* Its server has been given what was RESET_DUE, or c has it no more. */
static inline void relay_reset_over(struct client *c)
{
	c->relay.resetting = RESET_NONE;
	c->relay.resets = 0;
}

/*
 * A whole CommandComplete: may values have changed that the server does not
 * report? They are unknown from now on. 0, or -1: no memory.
 */
int relay_reset_silent(const struct relay_down *d);
/* Is the CommandComplete that of a RESET, or of a DISCARD ALL? */
void relay_reset_tag(const struct relay_down *d);
/* A FunctionCallResponse: what it was asked has succeeded. */
void relay_reset_called(const struct relay_down *d);
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
