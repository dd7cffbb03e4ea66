/* relay_send.c - what becomes of a message: passed, dropped, answered here.
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "proto/track_run.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"

void relay_pass(struct relay_up *up)
{
	const size_t n = up->have < up->size ? up->have : up->size;

	outbox_pass(&up->out, up->m, n);
	up->c->rest.bytes = (uint32_t)(up->size - n);
	up->used = n;
}

enum relay_step relay_fail(struct relay_up *up, enum close_reason reason)
{
	return relay_fail_cause(up, close_cause(reason));
}

enum relay_step relay_fail_cause(struct relay_up *up, struct close_cause why)
{
	if (up->s != NULL)
		outbox_flush(&up->out);
	client_fail_cause(up->c, why);
	return RELAY_STOP;
}

enum relay_step relay_no_memory(struct relay_up *up)
{
	client_fail(up->c, CLOSE_OUT_OF_MEMORY);
	return RELAY_STOP;
}

enum relay_step relay_request(struct relay_up *up)
{
	struct track *t = &up->s->track;
	const char type = (char)up->m[0];
	const unsigned place = t->count;
	const bool changes = relay_own_changes(up) && !track_wants_data(t);

	if (track_room(t) > 0)
		track_add_plain(t, type);
	else if (track_add(t, type, TRACK_FORWARD, NULL) < 0)
		return relay_no_memory(up);
	if (changes)
		relay_own_note(up, place);
	relay_pass(up);
	return RELAY_NEXT;
}

void relay_send_fake(struct outbox *to_client, char type)
{
	static const uint8_t parsed[] = { BE_PARSE_COMPLETE, 0, 0, 0, 4 };
	static const uint8_t closed[] = { BE_CLOSE_COMPLETE, 0, 0, 0, 4 };

	outbox_pass(to_client, type == FE_PARSE ? parsed : closed,
	    sizeof parsed);
}

/* The message is not forwarded; its reply stands in line with the others. */
enum relay_step relay_fake(struct relay_up *up, char type, void *op)
{
	struct track *t = up->s == NULL ? NULL : &up->s->track;
	struct outbox o;

	up->used = up->size;
	if (t != NULL && (!track_is_empty(t) || up->s->rest.bytes > 0))
		return track_add(t, type, TRACK_FAKE, op) < 0 ?
		    relay_no_memory(up) : RELAY_NEXT;
	prepared_op_free(op);
	outbox_init(&o, &up->c->stream);
	relay_send_fake(&o, type);
	outbox_flush(&o);
	return RELAY_NEXT;
}

enum relay_step relay_wait(struct relay_up *up)
{
	static const uint8_t flush[] = { FE_FLUSH, 0, 0, 0, 4 };

	up->c->relay.hold = true;
	/* the client may never ask for what we must know */
	if (!track_awaits_ready(&up->s->track))
		outbox_pass(&up->out, flush, sizeof flush);
	return RELAY_SHORT;
}

enum relay_step relay_drop(struct relay_up *up)
{
	const size_t n = up->have < up->size ? up->have : up->size;

	up->c->rest.bytes = (uint32_t)(up->size - n);
	up->c->rest.dropped = up->c->rest.bytes > 0;
	up->used = n;
	return RELAY_NEXT;
}

/* PostgreSQL docs, Message Flow, Extended Query: an error skips to Sync */
enum relay_step relay_discard(struct relay_up *up)
{
	static const uint8_t ready[] = { BE_READY_FOR_QUERY, 0, 0, 0, 5, 'I' };
	struct client *c = up->c;

	if (up->m[0] != FE_SYNC)
		return relay_drop(up);
	c->relay.discards = false;
	if (stream_write_bytes(&c->stream, ready, sizeof ready) !=
	    STREAM_BROKEN)
		return relay_drop(up);
	client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	return RELAY_STOP;
}
