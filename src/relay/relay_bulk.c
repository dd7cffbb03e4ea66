/* relay_bulk.c - rows and COPY data in bulk, passed on unseen where they may be.
 * SPDX-License-Identifier: ISC */
#include "proto/track_look.h"
#include "relay/relay_parts.h"
#include "session/bulk.h"
#include "session/carry.h"

ssize_t relay_read_up(struct client *c, struct server *s, struct burst *b,
    size_t max)
{
	if (s == NULL || c->rest.dropped || c->carry.len > 0 ||
	    c->relay.text != NULL ||
	    (c->relay.hold && c->rest.bytes < SPLICE_MIN) ||
	    s->own_query != OWN_QUERY_NONE || track_is_empty(&s->track) ||
	    !splice_can(&c->stream, &s->stream))
		return carry_read(&c->carry, &c->stream, b, max);
	struct bulk k = { .from = &c->stream, .to = &s->stream,
	    .skip = &c->rest.bytes, .kinds = { FE_COPY_DATA, FE_COPY_DATA },
	    .max = (uint32_t)(max - MSG_HEADER) };

	return bulk_move(&k, b);
}

ssize_t relay_read_down(struct server *s, struct client *c, struct burst *b,
    size_t max)
{
	if (c == NULL || s->rest.dropped || s->carry.len > 0 ||
	    s->own_query != OWN_QUERY_NONE || track_is_empty(&s->track) ||
	    track_has_fake(&s->track) || !splice_can(&s->stream, &c->stream))
		return carry_read(&s->carry, &s->stream, b, max);
	struct bulk k = { .from = &s->stream, .to = &c->stream,
	    .skip = &s->rest.bytes, .kinds = { BE_DATA_ROW, BE_COPY_DATA },
	    .max = (uint32_t)(max - MSG_HEADER) };

	return bulk_move(&k, b);
}
