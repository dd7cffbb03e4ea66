/* relay_refuse.c - a Parse for which there is no room; a Bind of old columns.
 *
 * The batch has to fail as a whole, and in its turn, which is the server's
 * business: it gets a Parse that can't succeed, and what it says of that is
 * replaced. (max_prepared_statement_memory; relay_columns.h)
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/errcodes.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/report.h"
#include "proto/track_look.h"
#include "proto/writer.h"
#include "relay/relay_columns.h"
#include "relay/relay_parts.h"
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

/* In a transaction that has failed the server says that, as of a Bind. */
static const char changed[] = PREPARED_NAME_TRIED
    "\0/* a client was told other columns */ SELECT columns_have_changed\0";
static const uint8_t changed_head[] = { FE_PARSE, 0, 0, 0,
	4 + sizeof changed + 1 };

enum relay_step relay_refuse_bind(struct relay_up *up)
{
	struct prepared_op *const op = prepared_op_new(PREPARED_CHANGED, NULL,
	    "");

	if (op == NULL || track_add(&up->s->track, FE_PARSE, TRACK_FORWARD,
	    op) < 0)
		return relay_no_memory(up);
	outbox_pass(&up->out, changed_head, sizeof changed_head);
	outbox_pass(&up->out, changed, sizeof changed);
	outbox_pass(&up->out, "", 1);
	return relay_drop(up);
}

void relay_send_changed(struct outbox *to_client, const struct client *c)
{
	/* as PostgreSQL's: drivers know it by its routine */
	static const char error[] = "SERROR\0VERROR\0C0A000\0"
	    "Mcached plan must not change result type\0"
	    "RRevalidateCachedQuery\0";
	uint8_t bytes[MSG_HEADER + sizeof error] = { BE_ERROR_RESPONSE };

	log_at(LEVEL_DEBUG, &c->who, "statement has other columns than its "
	    "client was told");
	tally_error(&c->ss->tally, TALLY_OF_POOLER,
	    ERRCODE_FEATURE_NOT_SUPPORTED);
	msg_put_u32(bytes + 1, sizeof bytes - 1);
	memcpy(bytes + MSG_HEADER, error, sizeof error);
	outbox_copy_all(to_client, bytes, sizeof bytes);
}
