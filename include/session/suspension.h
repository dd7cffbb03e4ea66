/* suspension.h - sessions that stand still, each at a place where it may go on.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SUSPENSION_H
#define SESSION_SUSPENSION_H

#include <stdbool.h>

struct sessions;

/*
 * Stop every session that can stop now, wherever its bytes end. Nothing more
 * is read from it, nothing that is queued is sent, so nothing happens to it;
 * what a client has sent already stays with it. Servers that are of no use
 * like that are closed. (spec/admin-console.md section 4.8)
 * is_patient: who is logging in may come to an end; else it stands still, too.
 * Call it each turn, as new connections may come to an end of their logins.
 * Returns: how many sessions still move.
 */
unsigned suspension_turn(struct sessions *ss, bool is_patient);

/* They have had their time: close those that still move. */
void suspension_close_rest(struct sessions *ss, const char *reason);

/* All go on. */
void suspension_end(struct sessions *ss);

#endif
