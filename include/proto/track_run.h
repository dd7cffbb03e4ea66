/* track_run.h - the hot path of what is owed: nothing special, no call.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_TRACK_RUN_H
#define PROTO_TRACK_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg.h"
#include "proto/track.h"

/* The role of a reply to a request of the client. */
struct track_kind {
	char ends;		/* type of the request ended, or 0 */
	uint8_t in_query;	/* part of a simple query's result */
	uint8_t in_execute;	/* part of an Execute's result */
};
static const struct track_kind track_kinds[256] = {
	[BE_PARSE_COMPLETE] = { FE_PARSE, 0, 0 },
	[BE_BIND_COMPLETE] = { FE_BIND, 0, 0 },
	[BE_CLOSE_COMPLETE] = { FE_CLOSE, 0, 0 },
	[BE_ROW_DESCRIPTION] = { FE_DESCRIBE, 1, 0 },
	[BE_NO_DATA] = { FE_DESCRIBE, 0, 0 },
	[BE_DATA_ROW] = { 0, 1, 1 },
	[BE_COMMAND_COMPLETE] = { FE_EXECUTE, 1, 0 },
	[BE_EMPTY_QUERY_RESPONSE] = { FE_EXECUTE, 1, 0 },
	[BE_PORTAL_SUSPENDED] = { FE_EXECUTE, 0, 0 },
};

/*
 * Note a request of the client itself that is none of CopyDone, CopyFail and
 * has no op. False: something is special, call track_add().
 */
static inline bool track_add_plain(struct track *t, char type)
{
	if (t->aborted || t->count == t->size)
		return false;
	t->ready = false;
	t->ring[(t->head + t->count++) & (t->size - 1)] = (struct track_req){
	    .type = type, .how = TRACK_FORWARD };
	return true;
}

/*
 * Is all that is owed the client's own, with no op and no COPY? Then, until
 * something is added, track_take() and track_take_ready() serve.
 */
static inline bool track_is_plain(const struct track *t)
{
	return t->op_count == 0 && t->odd == 0 && !t->copy_in && !t->uncertain;
}

static inline void track_end_plain(struct track *t, bool ready)
{
	t->ready = ready;
	t->head = (t->head + 1) & (t->size - 1);
	t->count--;
}

/*
 * As track_reply() that says TRACK_PASS, for a reply that is no ReadyForQuery.
 * False: nothing was done, call that.
 */
static inline bool track_take(struct track *t, uint8_t type)
{
	const struct track_kind *const k = &track_kinds[type];

	if (t->count == 0)
		return false;
	const char asked = t->ring[t->head].type;

	if (asked == FE_QUERY || k->ends != asked) {
		if (!(asked == FE_QUERY ? k->in_query :
		    asked == FE_EXECUTE && k->in_execute))
			return false;
		t->ready = false;
		return true;
	}
	track_end_plain(t, false);
	return true;
}

/* The same for ReadyForQuery. */
static inline bool track_take_ready(struct track *t, char status)
{
	if (t->count == 0 || (t->ring[t->head].type != FE_QUERY &&
	    t->ring[t->head].type != FE_SYNC))
		return false;
	t->status = status;
	t->aborted = false;
	track_end_plain(t, true);
	return true;
}

#endif
