/* slow.h - the log of queries that took long (log_min_duration).
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SLOW_H
#define SESSION_SLOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct client;
struct slow_query;

/* Of a worker: what queries that ended have left, for those that begin. */
struct slow_list {
	struct slow_query *first;	/* owned */
	unsigned count;
};

/*
 * A query begins with the message m, of which n bytes came: keep what its line
 * is to say of it.
 */
void slow_note(struct client *c, const uint8_t *m, size_t n);
/* The query of c has ended after so long: log it, forget its text. */
void slow_log(struct client *c, usec_t duration);
/* c is about to be closed: the same for the query it leaves, if any. */
void slow_log_unfinished(struct client *c);
void slow_forget(struct client *c);
void slow_fini(struct slow_list *spare);

/* The traceparent of its query; NULL: none. */
const char *slow_trace(const struct client *c);
/* The text that is kept; NULL: none. */
const char *slow_text(const struct client *c);
/* It comes with a session that is taken over. 0, or -1: no memory. */
int slow_set_text(struct client *c, const char *text);

#endif
