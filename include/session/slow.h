/* slow.h - the log of queries that took long (log_min_duration).
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SLOW_H
#define SESSION_SLOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct client;
struct slow_query;

/* Per worker: notes of queries that have ended, for reuse. */
struct slow_list {
	struct slow_query *first;	/* owned */
	unsigned count;
};

/*
 * A query begins with message m, of which n bytes are here: keeps what its line
 * may say.
 */
void slow_note(struct client *c, const uint8_t *m, size_t n);
/* The query of c has ended after this time: logs it, and forgets its text. */
void slow_log(struct client *c, usec_t duration);
/* c will be closed: the same for a query that has not ended. */
void slow_log_unfinished(struct client *c);
void slow_forget(struct client *c);
void slow_fini(struct slow_list *spare);

/* The traceparent of its query, or NULL. */
const char *slow_trace(const struct client *c);
/* The kept text, or NULL. */
const char *slow_text(const struct client *c);
/* The text of a session that is taken over. Returns 0, or -1: no memory. */
int slow_set_text(struct client *c, const char *text);

#endif
