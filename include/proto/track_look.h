/* track_look.h - what becomes of a request, or of a reply, that comes now.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_TRACK_LOOK_H
#define PROTO_TRACK_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/track.h"

/* How many requests are looked through; past that nothing is known. */
#define TRACK_LOOK 1024

/*
 * Requests, oldest first, whose fate does not decide over a request that is
 * added now: a Sync stands between them. When such a request fails, requests
 * behind the Sync happen all the same. Returns 0,
 * or -1: too many to look through.
 */
int track_apart(const struct track *t, unsigned *n);

/*
 * Is a ReadyForQuery owed, so that what is added now is not of the first batch or
 * Query? Also if there are too many to look through.
 */
bool track_owes_ready(const struct track *t);

/*
 * May the transaction have failed when what is added now gets its turn? (If
 * something fails in the same pipeline, it gets none. A Query of our own is
 * sent ahead of a transaction, and fails none.)
 */
bool track_may_be_failed(const struct track *t);

/*
 * May what is added now be skipped, because something fails that stands ahead
 * of it in the batch that is open? A Query or FunctionCall ends no batch: both
 * are skipped, too.
 */
bool track_may_be_skipped(const struct track *t);

/* Does the server read COPY data whose end was not sent yet? */
bool track_wants_data(const struct track *t);
/* Is the end of COPY data still to be read? */
bool track_has_copy_end(const struct track *t);

/* Is nothing owed but the answer to a Sync of our own? */
static inline bool track_is_answered(const struct track *t)
{
	return t->count == 0 || (t->count == 1 &&
	    track_req(t, 0)->type == 'S' && track_req(t, 0)->how == TRACK_SKIP);
}

/* The request that was added just now is about this. */
static inline void track_tag(struct track *t, uint32_t tag)
{
	if (t->count > 0 && !t->aborted)
		t->ring[(t->head + t->count - 1) & (t->size - 1)].tag = tag;
}
/* ... and does this to the unnamed statement (enum own_mark). */
static inline void track_mark(struct track *t, uint8_t own)
{
	if (t->count > 0 && !t->aborted)
		t->ring[(t->head + t->count - 1) & (t->size - 1)].own = own;
}
/* Subject of the oldest request; 0: not told. */
static inline uint32_t track_head_tag(const struct track *t)
{
	return t->count == 0 ? 0 : track_req(t, 0)->tag;
}

/*
 * Is a batch without its Sync open, outside of a transaction block? PostgreSQL
 * 18 forgets to end the transaction of a Query that comes then: the next
 * command on that server fails, whichever client sends it.
 */
static inline bool track_is_in_batch(const struct track *t)
{
	return t->status == 'I' &&
	    (t->count > 0 ? !track_awaits_ready(t) : !t->ready);
}

/*
 * Add r as it stands in the ring of another process; r's op is taken. -1, and
 * op is not taken: no memory, or bad.
 */
int track_put(struct track *t, const struct track_req *r);

#endif
