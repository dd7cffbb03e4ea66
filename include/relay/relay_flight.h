/* relay_flight.h - a request that passes behind SETs; see flight.h.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_FLIGHT_H
#define RELAY_RELAY_FLIGHT_H

#include <stdbool.h>

#include "relay/relay_parts.h"
#include "session/flight.h"

/* s->keep.flight is there: its SETs are sent. Returns false when both were closed. */
__attribute__((cold)) bool relay_flight_begin(struct relay_up *up);
/* A message of the request was looked at: what follows step? */
__attribute__((cold))
enum relay_step relay_flight_passed(struct relay_up *up, enum relay_step step);
/* The burst is over: until the SETs are answered, nothing else passes. */
__attribute__((cold)) void relay_flight_wait(struct server *s);

/* s has what c wants. Returns false when both were closed. */
bool relay_sets_done(struct client *c, struct server *s);

/* s has said something: are its SETs done? Returns false when both were closed. */
__attribute__((cold))
bool relay_flight_look(struct client *c, struct server *s);
/* An error is at hand, which nobody is told. False: s was closed. */
bool relay_flight_failed(struct server *s);
/*
 * It was skipped up to the Sync: the request comes again, from the carry of c.
 * True: now, by relay_resume(). False: later, or c or s was closed.
 */
bool relay_flight_again(struct client *c, struct server *s);

#endif
