/* relay_columns.c - the columns of a statement, as its client knows them.
 *
 * A client reads rows by the description that it was given once. Where a server
 * parses the text later, or parsed it earlier, the description may be another
 * one: the server is asked before the client's Bind goes there, once for each
 * time that it has parsed the text. (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include "relay/relay_columns.h"

#include <string.h>

#include "base/err.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "relay/relay_parts.h"
#include "relay/relay_prepared.h"
#include "session/sessions.h"

/* Is a Describe of stmt, or of a portal of it, on its way? */
static bool relay_columns_is_asked(const struct track *t,
    const struct prepared *stmt, unsigned changes)
{
	for (unsigned i = 0; t->op_count > 0 && i < t->count; i++) {
		const struct prepared_op *const op = track_op(t, i);

		if (op != NULL && (op->changes & changes) != 0 &&
		    op->stmt == stmt)
			return true;
	}
	return false;
}

/* Is the message behind the Bind at hand a Describe of its portal? */
static enum columns next_tells(const struct relay_up *up)
{
	const char *const portal = (const char *)up->m + MSG_HEADER;
	const uint8_t *const next = up->m + up->size;
	const size_t have = up->have - up->size;

	if (have < MSG_HEADER)
		return COLUMNS_MORE;
	if (next[0] != FE_DESCRIBE)
		return COLUMNS_REFUSE;
	const size_t size = msg_size(next, up->max);

	if (size > have)
		return COLUMNS_MORE;
	return size > MSG_HEADER + 1 && next[MSG_HEADER] == 'P' &&
	    size - MSG_HEADER - 1 == strlen(portal) + 1 &&
	    memcmp(next + MSG_HEADER + 1, portal, strlen(portal) + 1) == 0 ?
	    COLUMNS_PASS : COLUMNS_REFUSE;
}

enum columns relay_columns_relies(const struct relay_up *up,
    const struct prepared_shape *told, const struct prepared_shape *has,
    bool described)
{
	if (up->have < up->size)
		return up->size > RELAY_SMALL_MAX ? COLUMNS_REFUSE :
		    COLUMNS_MORE;
	const struct prepared_bind b = prepared_bind_read(up->m + MSG_HEADER,
	    up->size - MSG_HEADER);

	/* the server says what is wrong with it */
	if (!b.whole)
		return COLUMNS_PASS;
	if (told->params != 0 && told->params != has->params && b.binary)
		return COLUMNS_REFUSE;
	if (told->columns == 0 || told->columns == has->columns)
		return COLUMNS_PASS;
	if (b.formats > 1)
		return COLUMNS_REFUSE;
	return described ? COLUMNS_PASS : next_tells(up);
}

enum columns relay_columns_look(const struct relay_up *up,
    const struct prepared_name *n, const struct prepared_use *use)
{
	if (prepared_shape_fits(&n->told, &use->shape))
		return COLUMNS_PASS;
	if (prepared_shape_lacks(&use->shape, &n->told))
		return COLUMNS_ASK;
	if (prepared_shape_is_older(&use->shape, &n->told))
		return COLUMNS_RENEW;
	return relay_columns_relies(up, &n->told, &use->shape,
	    relay_columns_is_asked(&up->s->track, n->stmt, PREPARED_TOLD));
}

enum relay_step relay_columns_ask(struct relay_up *up,
    const struct prepared_use *use)
{
	struct track *const t = &up->s->track;

	if (relay_columns_is_asked(t, use->stmt,
		PREPARED_TOLD | PREPARED_ASKED))
		return relay_wait(up);
	struct prepared_op *const op = prepared_op_new(PREPARED_ASKED,
	    use->stmt, "");

	if (op == NULL)
		return relay_no_memory(up);
	op->shape.at = use->shape.at;
	if (track_is_done(t))
		op->changes |= PREPARED_FIRST;
	relay_send_named(up, FE_DESCRIBE, "S", use->stmt);
	if (track_add(t, FE_DESCRIBE, TRACK_SKIP, op) < 0)
		return relay_no_memory(up);
	track_tag(t, use->stmt->number);
	return relay_wait(up);
}

void relay_columns_find(struct relay_up *up)
{
	struct client *const c = up->c;
	struct prepared_name *n;
	unsigned at = 0;

	while ((n = slots_next(c->statements, &at)) != NULL)
		if (n->stmt->number == c->relay.learns)
			up->learns.of = n;
	up->learns.portal = "";
	c->relay.learns = 0;
}

int relay_columns_describe(struct relay_up *up, const struct prepared_name *n,
    const struct prepared_use *use)
{
	const bool known = use->shape.params != 0 && use->shape.columns != 0 &&
	    n->told.params == use->shape.params &&
	    n->told.columns == use->shape.columns;
	struct prepared_op *const op = known ? NULL :
	    prepared_op_new(PREPARED_TOLD, n->stmt, n->name);

	if (!known && op == NULL)
		return -1;
	if (op != NULL)
		op->shape.at = use->shape.at;
	return track_add(&up->s->track, FE_DESCRIBE, TRACK_FORWARD, op);
}

bool relay_columns_learns(const struct relay_up *up, const char *portal)
{
	return up->learns.of != NULL &&
	    strcmp(up->learns.portal, portal) == 0;
}

int relay_columns_learn(struct relay_up *up)
{
	struct prepared_name *const n = up->learns.of;
	struct prepared_use *const use = prepared_uses_touch(&up->s->prepared,
	    n->stmt);

	up->learns.of = NULL;
	return use == NULL ? track_add(&up->s->track, FE_DESCRIBE,
	    TRACK_FORWARD, NULL) : relay_columns_describe(up, n, use);
}

bool relay_columns_note(const struct relay_down *d)
{
	const struct track *const t = &d->s->track;
	struct prepared_op *const op = t->op_count == 0 || track_is_empty(t) ?
	    NULL : track_op(t, 0);

	if (op == NULL || (op->changes & (PREPARED_TOLD | PREPARED_ASKED)) == 0)
		return true;
	if (d->m[0] == BE_NO_DATA) {
		op->shape.columns = PREPARED_SHAPE_NONE;
		return true;
	}
	const size_t size = d->size > RELAY_SMALL_MAX ? MSG_HEADER : d->size;
	const uint8_t *const body = d->m + MSG_HEADER;

	if (d->have < size)
		return false;
	if (d->m[0] == BE_PARAMETER_DESCRIPTION)
		op->shape.params = prepared_shape_params(body,
		    size - MSG_HEADER);
	else
		op->shape.columns = prepared_shape_columns(body,
		    size - MSG_HEADER);
	return true;
}

/*
 * The batch has to fail as a whole, and in its turn, which is the server's
 * business: it gets a Parse that can't succeed, and what it says of that is
 * replaced. (max_prepared_statement_memory; relay_columns.h)
 */

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
