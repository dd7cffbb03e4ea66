/* track_run.h - the hot path of what is owed: nothing special, no call.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_TRACK_RUN_H
#define PROTO_TRACK_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg.h"
#include "proto/track.h"

/*
 * The role of a reply to a request of the client. In a mask each request has a
 * bit; those that differ from one in nothing but case end a COPY, and are not
 * plain.
 */
#define TRACK_BIT(type) (1u << ((type) & 31))
struct track_kind {
	char ends;		/* type of the request ended, or 0 */
	uint32_t part_of;	/* mask: in whose result it is, and ends none */
};
static const struct track_kind track_kinds[256] = {
	[BE_PARSE_COMPLETE] = { FE_PARSE, 0 },
	[BE_BIND_COMPLETE] = { FE_BIND, 0 },
	[BE_CLOSE_COMPLETE] = { FE_CLOSE, 0 },
	[BE_ROW_DESCRIPTION] = { FE_DESCRIBE, TRACK_BIT(FE_QUERY) },
	[BE_NO_DATA] = { FE_DESCRIBE, 0 },
	[BE_DATA_ROW] = { 0, TRACK_BIT(FE_QUERY) | TRACK_BIT(FE_EXECUTE) },
	[BE_COMMAND_COMPLETE] = { FE_EXECUTE, TRACK_BIT(FE_QUERY) },
	[BE_EMPTY_QUERY_RESPONSE] = { FE_EXECUTE, TRACK_BIT(FE_QUERY) },
	[BE_PORTAL_SUSPENDED] = { FE_EXECUTE, 0 },
};

/*
 * How many requests can be noted by track_add_plain(); none where they are
 * discarded. For others call track_add().
 */
static inline unsigned track_room(const struct track *t)
{
	const unsigned size = t->size < TRACK_CAP ? t->size : TRACK_CAP;

	return t->aborted || t->count >= size ? 0 : size - t->count;
}

/*
 * Note a request of the client itself that is none of CopyDone, CopyFail and
 * has no op. There is room. own: see track_mark().
 */
static inline void track_add_marked(struct track *t, char type, uint8_t own)
{
	t->ready = false;
	t->ring[(t->head + t->count++) & (t->size - 1)] = (struct track_req){
	    .type = type, .how = TRACK_FORWARD, .own = own };
}
static inline void track_add_plain(struct track *t, char type)
{
	track_add_marked(t, type, 0);
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

	if ((k->part_of & TRACK_BIT(asked)) != 0) {
		t->ready = false;
		return true;
	}
	if (k->ends != asked)
		return false;
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
