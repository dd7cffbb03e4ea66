/* relay_cancel.c - a client that is told to stop waiting for a server.
 *
 * The client has no server, so no transaction is open and no COPY runs: what
 * waits has not begun, and the answer that PostgreSQL gives is ours to give.
 * SPDX-License-Identifier: ISC */
#include "base/errcodes.h"
#include "broker/broker.h"
#include "proto/msg.h"
#include "proto/report.h"
#include "proto/writer.h"
#include "relay/relay.h"
#include "relay/relay_parts.h"
#include "session/sessions.h"

#define CANCELED "canceling statement due to user request"
#define OUT_CAP 4096

void relay_cancel_wait(struct client *c)
{
	const struct settings *set = sessions_settings(c->ss);
	const uint8_t *m = c->carry.at;	/* the message that asked for it */
	struct writer w;

	if (c->carry.len < MSG_HEADER)
		return;
	const bool whole = m[0] == FE_QUERY || m[0] == FE_FUNCTION_CALL;

	broker_leave_queue(c);
	c->waited = time_precise();	/* all of the time that it took */
	relay_note_end(c, 'I');
	if (set->log_pooler_errors)
		log_at(LEVEL_WARNING, &c->who, "pooler error: %s", CANCELED);
	log_settle();
	writer_init(&w, OUT_CAP);
	report_write_error(&w, "ERROR", ERRCODE_QUERY_CANCELED, CANCELED);
	tally_error(&c->ss->tally, TALLY_OF_POOLER, ERRCODE_QUERY_CANCELED);
	if (whole) {
		/* dropped as it comes; what is behind it counts again */
		c->rest.bytes = (uint32_t)msg_size(m,
		    sessions_longest(c->ss, MSG_MAX_UP));
		c->rest.dropped = c->rest.bytes > 0;
		writer_ready(&w, 'I');
	} else {
		c->relay.discards = true;
	}
	if (w.failed)
		client_fail(c, CLOSE_OUT_OF_MEMORY);
	else if (stream_write_bytes(&c->stream, w.at, w.len) == STREAM_BROKEN)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	else
		relay_resume(c);
	writer_fini(&w);
}
