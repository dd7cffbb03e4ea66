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
	bool tagged;		/* its tag may tell more: see trace.h */
	uint32_t part_of;	/* mask: in whose result it is, and ends none */
};
static const struct track_kind track_kinds[256] = {
	[BE_PARSE_COMPLETE] = { .ends = FE_PARSE },
	[BE_BIND_COMPLETE] = { .ends = FE_BIND },
	[BE_CLOSE_COMPLETE] = { .ends = FE_CLOSE },
	[BE_ROW_DESCRIPTION] = { FE_DESCRIBE, false, TRACK_BIT(FE_QUERY) },
	[BE_NO_DATA] = { .ends = FE_DESCRIBE },
	[BE_DATA_ROW] = { .part_of = TRACK_BIT(FE_QUERY) |
	    TRACK_BIT(FE_EXECUTE) },
	[BE_COMMAND_COMPLETE] = { FE_EXECUTE, true, TRACK_BIT(FE_QUERY) },
	[BE_EMPTY_QUERY_RESPONSE] = { FE_EXECUTE, false,
	    TRACK_BIT(FE_QUERY) },
	[BE_PORTAL_SUSPENDED] = { FE_EXECUTE, true, 0 },
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
 * What changes with each request and reply of a run, to be kept in registers. t knows
 * nothing of the run before track_run_end().
 */
struct track_run {
	struct track_req *ring;
	unsigned head, count, mask;
};
static inline struct track_run track_run_begin(const struct track *t)
{
	return (struct track_run){ t->ring, t->head, t->count, t->size - 1 };
}
/* Something was noted or taken, and the last of it was no ReadyForQuery. */
static inline void track_run_end(struct track *t, const struct track_run *r)
{
	t->head = r->head;
	t->count = r->count;
	t->ready = false;
}

/*
 * Note a request of the client itself that is none of CopyDone, CopyFail and
 * has no op. There is room. Returns it, for what it does by track_mark().
 */
static inline struct track_req *track_run_add(struct track_run *r, char type)
{
	struct track_req *const req = &r->ring[(r->head + r->count++) &
	    r->mask];

	/* all but the type is zero: that is written as one word */
	*req = (struct track_req){ .how = TRACK_FORWARD };
	req->type = type;
	return req;
}
static inline void track_add_plain(struct track *t, char type)
{
	struct track_run r = track_run_begin(t);

	(void)track_run_add(&r, type);
	track_run_end(t, &r);
}

/*
 * Is all that is owed the client's own, with no op and no COPY? Then, until
 * something is added, track_take() and track_take_ready() serve.
 */
static inline bool track_is_plain(const struct track *t)
{
	return t->op_count == 0 && t->odd == 0 && !t->copy_in && !t->uncertain;
}

/*
 * Something is owed. As track_reply() that says TRACK_PASS, for a reply of this kind.
 * False: nothing was done, call that.
 */
static inline bool track_run_take(struct track_run *r,
    const struct track_kind *k)
{
	const char asked = r->ring[r->head].type;

	if (k->ends != asked)
		return (k->part_of & TRACK_BIT(asked)) != 0;
	r->head = (r->head + 1) & r->mask;
	r->count--;
	return true;
}
/* The same of one reply, which is no ReadyForQuery; maybe nothing is owed. */
static inline bool track_take(struct track *t, uint8_t type)
{
	struct track_run r = track_run_begin(t);

	if (r.count == 0 || !track_run_take(&r, &track_kinds[type]))
		return false;
	track_run_end(t, &r);
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
	t->ready = true;
	t->head = (t->head + 1) & (t->size - 1);
	t->count--;
	return true;
}

#endif
