/* freeze.h - sessions that stand still, each at a place where it may go on.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_FREEZE_H
#define SESSION_FREEZE_H

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
unsigned freeze_turn(struct sessions *ss, bool is_patient);

/* They have had their time: close those that still move. */
void freeze_close_rest(struct sessions *ss, const char *reason);

/* All go on. */
void freeze_end(struct sessions *ss);

#endif
