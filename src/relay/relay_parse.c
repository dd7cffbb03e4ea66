/* relay_parse.c - a Parse, and the texts that servers are told by it.
 *
 * A text is sent under a name that all servers share, if this one does not
 * have it yet; what it has and nobody uses is closed. (spec/pooling.md section
 * 16)
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "proto/msg.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "proto/unnamed.h"
#include "relay/relay_deallocate.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"
#include "relay/relay_prepared.h"
#include "relay/relay_reset.h"
#include "relay/relay_schema.h"
#include "relay/relay_share.h"
#include "relay/relay_unnamed.h"
#include "relay/relay_watch.h"
#include "session/sessions.h"
#include "sql/effects.h"

void relay_send_named(struct relay_up *up, char type, const char *kind,
    const struct prepared *stmt)
{
	const size_t extra = strlen(kind);
	const size_t body = type == FE_PARSE ? stmt->len : 0;
	uint8_t head[MSG_HEADER];

	head[0] = (uint8_t)type;
	msg_put_u32(head + 1, (uint32_t)(4 + extra + stmt->name_len + body));
	outbox_copy(&up->out, head, sizeof head);
	outbox_copy(&up->out, kind, extra);
	outbox_copy(&up->out, stmt->name, stmt->name_len);
	if (body == 0)
		return;
	outbox_pass(&up->out, stmt->body, stmt->len);
}

/* The least recently used one that may go; not the newest. NULL: none. */
static struct prepared *find_victim(const struct server *s)
{
	const struct prepared_use *use = s->prepared.lru;

	while (use->next != NULL && relay_is_open(s, NULL, use->stmt))
		use = use->next;
	return use->next == NULL ? NULL : use->stmt;
}

int relay_send_close(struct relay_up *up, struct prepared *stmt)
{
	struct prepared_op *const op = prepared_op_new(PREPARED_UNUSED, stmt,
	    "");

	if (op == NULL)
		return -1;
	op->shape = prepared_uses_touch(&up->s->prepared, stmt)->shape;
	relay_send_named(up, FE_CLOSE, "S", stmt);
	prepared_uses_remove(&up->s->prepared, stmt);
	return track_add(&up->s->track, FE_CLOSE, TRACK_SKIP, op);
}

/* The least recently used statements make room. 0 or -1: no memory. */
static int evict(struct relay_up *up)
{
	struct prepared_uses *uses = &up->s->prepared;
	const unsigned max = (unsigned)sessions_settings(up->c->ss)->
	    max_prepared_statements;
	struct prepared *old;

	while (uses->count > max && (old = find_victim(up->s)) != NULL)
		if (relay_send_close(up, old) < 0)
			return -1;
	return 0;
}

int relay_send_parse(struct relay_up *up, struct prepared *stmt,
    enum track_how how, struct prepared_op *op)
{
	if (op == NULL)
		return -1;
	/* what was forgotten is not closed: it goes with the connection */
	if (up->s->prepared.forgotten > (unsigned)sessions_settings(
	    up->c->ss)->max_prepared_statements)
		up->s->ps.close_needed = true;
	relay_share_note(up, stmt);
	/* op keeps the text alive until the server has answered */
	relay_send_named(up, FE_PARSE, "", stmt);
	up->c->pc.pool->counted.now.server_parse_count++;
	if (prepared_uses_add(&up->s->prepared, stmt) < 0) {
		prepared_op_free(op);
		return -1;
	}
	struct prepared_use *const use = prepared_uses_touch(&up->s->prepared,
	    stmt);

	use->generation = relay_schema_generation(up->s);
	use->shape.at = time_now();
	if (track_add(&up->s->track, FE_PARSE, how, op) < 0)
		return -1;
	return evict(up);
}

/*
 * The text of stmt under another name of ours, size bytes. op is what the
 * server's consent means, and keeps the text. 0 or -1.
 */
static int send_as(struct relay_up *up, const char *name, size_t size,
    struct prepared_op *op)
{
	const struct prepared *const stmt = op->stmt;
	uint8_t head[MSG_HEADER];

	head[0] = FE_PARSE;
	msg_put_u32(head + 1, (uint32_t)(4 + size + stmt->len));
	outbox_copy(&up->out, head, sizeof head);
	outbox_pass(&up->out, name, size);
	outbox_pass(&up->out, stmt->body, stmt->len);
	up->c->pc.pool->counted.now.server_parse_count++;
	return track_add(&up->s->track, FE_PARSE, TRACK_FORWARD, op);
}

/*
 * The server has the text, but what it says to Parse is not known beforehand,
 * as the transaction may have failed: it is asked under a name that is not
 * kept. 0 or -1.
 */
static int try_parse(struct relay_up *up, struct prepared_op *op)
{
	static const char name[] = PREPARED_NAME_TRIED;
	static const uint8_t closing[] = { FE_CLOSE, 0, 0, 0,
		4 + 1 + sizeof name, 'S' };

	if (send_as(up, name, sizeof name, op) < 0)
		return -1;
	outbox_pass(&up->out, closing, sizeof closing);
	outbox_pass(&up->out, name, sizeof name);
	return track_add(&up->s->track, FE_CLOSE, TRACK_SKIP, NULL);
}

bool relay_is_parse_body(const uint8_t *p, size_t n)
{
	struct reader r;

	reader_init(&r, p, n);
	(void)reader_str(&r);
	const uint16_t types = reader_u16(&r);

	(void)reader_bytes(&r, types * sizeof(uint32_t));
	return !r.failed && reader_left(&r) == 0;
}

/*
 * The name is taken. PostgreSQL looks at the text and at the transaction before
 * it looks at the name, so the server is told to take one that it has: what it
 * says of that is told with the client's name.
 */
static enum relay_step refuse_name(struct relay_up *up, const char *name,
    struct prepared *stmt)
{
	static const char taken[] = PREPARED_NAME_DUMMY;
	struct prepared_op *op = prepared_op_new(PREPARED_TAKEN, stmt, name);

	if (op == NULL || relay_prepare_dummy(up) < 0) {
		prepared_op_free(op);
		return relay_no_memory(up);
	}
	if (send_as(up, taken, sizeof taken, op) < 0)
		return relay_no_memory(up);
	up->used = up->size;
	return RELAY_NEXT;
}

/* A sound Parse of stmt: under which name, or not at all, is it sent? */
static enum relay_step parse_as(struct relay_up *up, const char *name,
    struct prepared *stmt)
{
	struct client *c = up->c;
	struct server *s = up->s;

	if (relay_is_open(s, name, stmt))
		return relay_wait(up);
	const struct prepared_name *const before =
	    prepared_name_find(c->statements, name);

	if (before != NULL && !before->lost)
		return refuse_name(up, name, stmt);
	/* an answer that is owed may call by name what it stood for */
	if (before != NULL && !track_is_empty(&s->track))
		return relay_wait(up);
	if (before != NULL)
		prepared_name_remove(&c->statements, name);
	const struct prepared_use *const use = prepared_uses_touch(
	    &s->prepared, stmt);

	/* of what came in an earlier burst, only the tag tells */
	if (use != NULL && up->owed)
		return relay_wait(up);
	/* this client is to be told what the text means now */
	const bool known = use != NULL && (s->track.status == 'E' ||
	    use->generation == relay_schema_generation(s));

	if (use != NULL && !known && relay_send_close(up, stmt) < 0)
		return relay_no_memory(up);
	struct prepared_op *op = prepared_op_new(known ? PREPARED_NAMED :
	    PREPARED_NAMED | PREPARED_USED, stmt, name);

	if (op == NULL || prepared_name_add(&c->statements, name, stmt) < 0) {
		prepared_op_free(op);
		return relay_no_memory(up);
	}
	c->pc.pool->counted.now.client_parse_count++;
	up->used = up->size;
	if (known && !track_may_be_failed(&s->track))
		return relay_fake(up, FE_PARSE, op);
	if ((known ? try_parse(up, op) :
	    relay_send_parse(up, stmt, TRACK_FORWARD, op)) < 0)
		return relay_no_memory(up);
	return RELAY_NEXT;
}

void relay_note_unnamed(struct relay_up *up)
{
	relay_watch_parse(up);
	if (!up->named)
		return;
	const uint32_t effects = relay_effects(up);

	if ((effects & EFFECT_MAY_SET) != 0)
		up->s->dialect.pending = true;
	up->c->relay.execute_holds = (effects & EFFECTS_HOLD) != 0;
}

/* An unnamed one passes as it comes, however long. */
static enum relay_step parse_unnamed(struct relay_up *up)
{
	enum relay_step step;

	if (relay_is_cut(up) || relay_own_is_cut(up))
		return RELAY_SHORT;
	if ((step = relay_reset_parse(up)) != RELAY_NEXT)
		return step;
	if (up->caches && relay_unnamed_parse(up, &step))
		return step;
	if (relay_dealloc_parse(up, &step))
		return step;
	relay_own_replaces(up);
	relay_note_unnamed(up);
	return relay_request(up);
}

enum relay_step relay_parse(struct relay_up *up)
{
	struct client *c = up->c;
	const uint8_t *body = up->m + MSG_HEADER;
	const size_t len = up->size - MSG_HEADER;

	if (up->have > MSG_HEADER && len > 0 && body[0] == '\0')
		return parse_unnamed(up);
	if (up->have < up->size)
		return RELAY_SHORT;
	const char *name = relay_string_at(body, len);

	if (name == NULL)
		return relay_fail(up, CLOSE_FAILED_TO_PARSE_PACKET);
	const size_t name_len = strlen(name) + 1;

	if (!relay_is_parse_body(body + name_len, len - name_len))
		return relay_fail(up, CLOSE_BROKEN_PARSE_PACKET);
	const uint8_t *const text = body + name_len;
	const size_t n = len - name_len;
	struct share sh = { .text = { .body = text, .len = n } };

	if (track_wants_data(&up->s->track))
		return relay_request(up);	/* the message ends the COPY */
	enum relay_step step = relay_share_find(up, &sh);

	if (step != RELAY_NEXT)
		return step;
	if (!unnamed_make_room(c->ss->unnamed, c->ss->prepared,
	    prepared_name_bytes(name) +
	    (sh.stmt != NULL ? 0 : prepared_text_bytes(n)),
	    sessions_statement_memory(c->ss))) {
		prepared_unref(sh.stmt);
		return relay_refuse_parse(up);
	}
	struct prepared *const stmt = relay_share_get(up, &sh);

	if (stmt == NULL)
		return relay_no_memory(up);
	relay_watch_parse(up);
	step = parse_as(up, name, stmt);
	prepared_unref(stmt);
	return step;
}
