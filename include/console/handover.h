/* handover.h - the console that said SUSPEND to go on with our sockets (-R).
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_HANDOVER_H
#define CONSOLE_HANDOVER_H

#include <stdbool.h>

struct admin;
struct client;
struct console;
struct err;

/* Is c another pgsluice of our user, which knows what state is? */
bool handover_reads_state(const struct client *c);

/*
 * What stands still is k's, if k is a successor: only its end, or its SHUTDOWN,
 * says who serves from then on, and nothing is changed before.
 */
void handover_begin(struct console *k);
void handover_end(struct admin *a);
bool handover_is_on(const struct admin *a);
/* The number of its process; 0: not known. */
long handover_pid(const struct admin *a);
/* The successor's connection ended, and with it what it wanted. */
bool handover_is_deserted(const struct admin *a);
void handover_closed(struct console *k);

/*
 * Take it back: it is told, and hears that before it can say SHUTDOWN; what it
 * has said by now counts. All goes on when its connection has ended, which this
 * leads to. Ask in each turn until then. false: there is none.
 */
bool handover_revoke(struct admin *a);

/* May k change something now? 0, or -1 with e. */
int handover_permit(const struct console *k, struct err *e);

#endif
