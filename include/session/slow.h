/* slow.h - the log of queries that took long (log_min_duration).
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SLOW_H
#define SESSION_SLOW_H

#include "base/time.h"

struct client;
struct relay_up;

/* Keep the text of the query that begins with the message at hand. */
void slow_note(struct relay_up *up);
/* The query of c has ended after so long: log it, forget its text. */
void slow_log(struct client *c, usec_t duration);
/* c is about to be closed: the same for the query it leaves, if any. */
void slow_log_unfinished(struct client *c);
void slow_forget(struct client *c);

#endif
