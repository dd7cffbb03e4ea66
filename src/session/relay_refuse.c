/* relay_refuse.c - a Parse for which there is no room.
 *
 * The batch has to fail as a whole, and in its turn, which is the server's
 * business: it gets a Parse that can't succeed, and what it says of that is
 * replaced. (max_prepared_statement_memory)
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"
#include "base/errcodes.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/report.h"
#include "proto/track_look.h"
#include "proto/writer.h"
#include "session/relay_parts.h"
#include "session/sessions.h"

#define REASON "no room for another prepared statement " \
	"(max_prepared_statement_memory)"
#define HINT "Raise max_prepared_statement_memory, or let clients close " \
	"statements that they need no more."

/* Whoever reads the server's log shall know what it is. */
static const char body[] = PREPARED_NAME_TRIED
    "\0/* max_prepared_statement_memory is reached */ )\0";
static const uint8_t head[] = { FE_PARSE, 0, 0, 0, 4 + sizeof body + 1 };

enum relay_step relay_refuse_parse(struct relay_up *up)
{
	if (track_wants_data(&up->s->track))
		return relay_request(up);	/* the message ends the COPY */
	struct prepared_op *op = prepared_op_new(PREPARED_REFUSED, NULL, "");

	if (op == NULL || track_add(&up->s->track, FE_PARSE, TRACK_FORWARD,
	    op) < 0)
		return relay_no_memory(up);
	outbox_pass(&up->out, head, sizeof head);
	/* with the NUL of the literal: no parameter types */
	outbox_pass(&up->out, body, sizeof body);
	outbox_pass(&up->out, "", 1);
	up->used = up->size;
	return RELAY_NEXT;
}

void relay_send_refusal(struct outbox *to_client, const struct client *c)
{
	struct writer w;

	if (sessions_settings(c->ss)->log_pooler_errors)
		log_at(LEVEL_WARNING, &c->who, "pooler error: %s", REASON);
	tally_error(&c->ss->tally, TALLY_OF_POOLER, ERRCODE_OUT_OF_MEMORY);
	log_settle();
	writer_init(&w, OUTBOX_BYTES);
	report_write(&w, BE_ERROR_RESPONSE, &(struct report){ "ERROR",
	    ERRCODE_OUT_OF_MEMORY, REASON, NULL, HINT });
	if (!w.failed)
		outbox_copy(to_client, w.at, w.len);
	else
		to_client->result = STREAM_BROKEN;
	writer_fini(&w);
}
