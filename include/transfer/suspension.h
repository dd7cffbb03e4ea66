/* suspension.h - stops sessions at points from which they can continue.
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_SUSPENSION_H
#define TRANSFER_SUSPENSION_H

#include <stdbool.h>

struct sessions;

/*
 * Stops every session that can stop now, wherever its bytes end. Nothing more
 * is read from a stopped session, and queued bytes are not sent; bytes that the
 * client has sent stay in its socket. Servers that cannot be used in this state
 * are closed. (spec/admin-console.md section 4.8)
 *
 * is_patient: logins and cancel requests under way may end first; otherwise
 * they stop, too. A request that was sent is not taken back: its target gets no
 * other client until it ends.
 *
 * To be called each turn until no session moves and ss->still, which means that
 * no more logins come from other workers. Returns the number of sessions that
 * still move.
 */
unsigned suspension_turn(struct sessions *ss, bool is_patient);

/* Another process has the stopped sessions: nothing more is sent from here. */
void suspension_give(struct sessions *ss);

/* All sessions continue. */
void suspension_end(struct sessions *ss);

#endif
