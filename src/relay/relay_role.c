/* relay_role.c - the role of a client that has logged in to be served.
 * SPDX-License-Identifier: ISC */
#include "relay/relay_role.h"

#include <stddef.h>

#include "base/err.h"
#include "broker/broker.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "relay/relay.h"
#include "relay/relay_parts.h"
#include "relay/relay_silence.h"
#include "relay/replication.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

/* A client that waits is not read: one that hangs up wants no answer. */
static void on_hung_up(struct client *c)
{
	if (c->pc.state == CLIENT_WAITING || c->pc.state == CLIENT_WELCOME ||
	    c->pc.state == CLIENT_DEDICATED_WAITING || relay_has_hung_up(c))
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
}

static enum close_reason on_cancel(struct client *c)
{
	if (c->pc.state != CLIENT_WAITING)
		return CLOSE_NONE;
	relay_cancel_wait(c);
	return CLOSE_CANCEL_WAITING_CLIENT;
}

static void on_dedicated(struct client *c)
{
	replication_ready(server_of(c->pc.server));
}

static const struct client_role relay = {
	.name = "relay",
	.admitted = broker_welcome,
	.input = relay_client_input,
	.drained = relay_client_drained,
	.hung_up = on_hung_up,
	.go_on = relay_resume,
	.cancel = on_cancel,
	.leave = broker_client_gone,
};

static const struct client_role replication = {
	.name = "replication",
	.admitted = broker_welcome,
	.input = relay_client_input,
	.drained = relay_client_drained,
	.hung_up = on_hung_up,
	.go_on = on_dedicated,
	.cancel = on_cancel,
	.leave = broker_client_gone,
};

const struct client_role *relay_role(void)
{
	return &relay;
}

const struct client_role *replication_role(void)
{
	return &replication;
}

/*
 * The client has no server, so no transaction is open and no COPY runs: what
 * waits has not begun, and the answer that PostgreSQL gives is ours to give.
 */

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
