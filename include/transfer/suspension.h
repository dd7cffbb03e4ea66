/* suspension.h - sessions that stand still, each at a place where it may go on.
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_SUSPENSION_H
#define TRANSFER_SUSPENSION_H

#include <stdbool.h>

struct sessions;

/*
 * Stop every session that can stop now, wherever its bytes end. Nothing more
 * is read from a session that stands still, and nothing that is queued is
 * sent; what a client has sent already stays in its socket. Servers
 * that are of no use like that are closed. (spec/admin-console.md section 4.8)
 * is_patient: a login may come to an end, and a cancel request that is under
 * way; else they stand still, too. A request that was sent is not taken back:
 * its target is lent to nobody else before its end.
 * To be called each turn, as they come to their ends, until none moves and
 * ss->still: no more logins come from other workers.
 * Returns: how many sessions still move.
 */
unsigned suspension_turn(struct sessions *ss, bool is_patient);

/* Another process has what stands still: not a word from here any more. */
void suspension_give(struct sessions *ss);

/* All sessions go on. */
void suspension_end(struct sessions *ss);

#endif
