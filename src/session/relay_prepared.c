/* relay_prepared.c - named statements under names that servers share.
 *
 * A client's name stands for a text; on the servers the text has a name of
 * its own. (pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/reader.h"
#include "session/relay_parts.h"
#include "session/sessions.h"

#define NAMES_MAX 65536	/* bytes in which a message must tell its names */

/* The string at p, at most n bytes; NULL: no NUL among them. */
static const char *string_at(const uint8_t *p, size_t n)
{
	return n > 0 && memchr(p, 0, n) != NULL ? (const char *)p : NULL;
}

static enum relay_step no_memory(struct relay_up *up)
{
	client_fail(up->c, "53200", "out of memory");
	return RELAY_STOP;
}

/* Send a message of ours about stmt: type, what stands before the name. */
static void send_named(struct relay_up *up, char type, const char *kind,
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

/* The least recently used statements make room. 0 or -1: no memory. */
static int evict(struct relay_up *up)
{
	struct prepared_uses *uses = &up->s->prepared;
	const unsigned max = (unsigned)sessions_settings(up->c->ss)->
	    max_prepared_statements;

	while (uses->count > max) {
		struct prepared *old = uses->lru->stmt;
		struct prepared_op *op = prepared_op_new(PREPARED_UNUSED, old,
		    "");

		if (op == NULL)
			return -1;
		send_named(up, FE_CLOSE, "S", old);
		prepared_uses_remove(uses, old);
		if (track_add(&up->s->track, FE_CLOSE, TRACK_SKIP, op) < 0)
			return -1;
	}
	return 0;
}

/* Send Parse of stmt; op and how say whose request it is. 0 or -1. */
static int send_parse(struct relay_up *up, struct prepared *stmt,
    enum track_how how, struct prepared_op *op)
{
	if (op == NULL)
		return -1;
	/* op keeps the text alive until the server has answered */
	send_named(up, FE_PARSE, "", stmt);
	up->c->pc.pool->counted.now.server_parse_count++;
	if (prepared_uses_add(&up->s->prepared, stmt) < 0) {
		prepared_op_free(op);
		return -1;
	}
	if (track_add(&up->s->track, FE_PARSE, how, op) < 0)
		return -1;
	return evict(up);
}

/* A query and its parameter types, to the byte. */
static bool is_parse_body(const uint8_t *p, size_t n)
{
	struct reader r;

	reader_init(&r, p, n);
	(void)reader_str(&r);
	const uint16_t types = reader_u16(&r);

	(void)reader_bytes(&r, types * sizeof(uint32_t));
	return !r.failed && reader_left(&r) == 0;
}

/*
 * Did a batch before this one bring stmt? If that fails it did not, but what
 * comes behind its Sync counts. (Message Flow, Extended Query)
 */
static bool is_uncertain(const struct track *t, const struct prepared *stmt)
{
	const unsigned brings = PREPARED_USED | PREPARED_NAMED;
	bool synced = false;

	for (unsigned i = t->count; i-- > 0;) {
		const struct track_req *r = track_req(t, i);
		const struct prepared_op *op = r->op;

		if (r->type == FE_SYNC)
			synced = true;
		else if (op != NULL && (op->changes & brings) &&
		    op->stmt == stmt)
			return synced;
	}
	return false;
}

/*
 * Then the client waits until all that was sent is answered; for that the
 * server must say what it has to say so far.
 */
static bool must_wait_for(struct relay_up *up, const struct prepared *stmt)
{
	static const uint8_t flush[] = { FE_FLUSH, 0, 0, 0, 4 };

	if (!is_uncertain(&up->s->track, stmt))
		return false;
	outbox_pass(&up->out, flush, sizeof flush);
	up->c->hold = true;
	return true;
}

/* Was it sent to the server, which has not confirmed it? */
static bool is_pending(struct relay_up *up, struct prepared *stmt)
{
	const struct prepared_use *use =
	    prepared_uses_touch(&up->s->prepared, stmt);

	return use != NULL && use->pending;
}

enum relay_step relay_parse(struct relay_up *up)
{
	struct client *c = up->c;
	const uint8_t *body = up->m + MSG_HEADER;
	const size_t len = up->size - MSG_HEADER;

	/* an unnamed one passes as it comes, however long */
	if (up->have > MSG_HEADER && len > 0 && body[0] == '\0')
		return relay_request(up);
	if (up->have < up->size)
		return RELAY_SHORT;
	const char *name = string_at(body, len);

	if (name == NULL)
		return relay_fail(up, "failed to parse packet");
	const size_t name_len = strlen(name) + 1;

	if (!is_parse_body(body + name_len, len - name_len))
		return relay_fail(up, "broken Parse packet");
	const struct prepared_name *n = prepared_name_find(c->statements, name);

	if (n != NULL && must_wait_for(up, n->stmt))
		return RELAY_SHORT;
	if (n != NULL) {
		log_at(LEVEL_ERROR, &c->who,
		    "prepared statement '%s' was already prepared", name);
		return relay_fail(up,
		    "prepared statement name is already in use");
	}
	struct prepared *stmt = prepared_get(c->ss->prepared, body + name_len,
	    len - name_len);

	if (stmt != NULL && is_pending(up, stmt) && must_wait_for(up, stmt)) {
		prepared_unref(stmt);
		return RELAY_SHORT;
	}
	if (stmt == NULL || prepared_name_add(&c->statements, name, stmt) < 0) {
		prepared_unref(stmt);
		return no_memory(up);
	}
	c->pc.pool->counted.now.client_parse_count++;
	enum relay_step step = RELAY_NEXT;

	up->used = up->size;
	if (prepared_uses_touch(&up->s->prepared, stmt) != NULL) {
		struct prepared_op *op = prepared_op_new(PREPARED_NAMED, stmt,
		    name);

		step = op == NULL ? no_memory(up) :
		    relay_fake(up, FE_PARSE, op);
	} else if (send_parse(up, stmt, TRACK_FORWARD, prepared_op_new(
	    PREPARED_NAMED | PREPARED_USED, stmt, name)) < 0) {
		step = no_memory(up);
	}
	prepared_unref(stmt);
	return step;
}

/*
 * The statement a name stands for, prepared on the linked server by now.
 * NULL: the client must wait (c->hold), or was closed.
 */
static struct prepared *find_statement(struct relay_up *up, const char *name)
{
	struct prepared_name *n = prepared_name_find(up->c->statements, name);

	if (n == NULL) {
		log_at(LEVEL_ERROR, &up->c->who,
		    "prepared statement '%s' not found", name);
		relay_fail(up, "prepared statement did not exist");
		return NULL;
	}
	if (is_pending(up, n->stmt) && must_wait_for(up, n->stmt))
		return NULL;
	if (prepared_uses_touch(&up->s->prepared, n->stmt) == NULL &&
	    send_parse(up, n->stmt, TRACK_SKIP, prepared_op_new(
	    PREPARED_USED, n->stmt, "")) < 0) {
		no_memory(up);
		return NULL;
	}
	return n->stmt;
}

enum relay_step relay_bind(struct relay_up *up)
{
	struct client *c = up->c;
	const uint8_t *portal = up->m + MSG_HEADER;

	/* hot: unnamed portal, unnamed statement */
	if (up->have > MSG_HEADER + 2 && up->size > MSG_HEADER + 2 &&
	    portal[0] == '\0' && portal[1] == '\0')
		return relay_request(up);
	const size_t here = up->have < up->size ? up->have : up->size;
	const uint8_t *end = up->m + here;
	const char *p = string_at(portal, (size_t)(end - portal));
	const uint8_t *at = p == NULL ? end : portal + strlen(p) + 1;
	const char *name = string_at(at, (size_t)(end - at));

	if (name == NULL)
		return here < up->size && here < NAMES_MAX ? RELAY_SHORT :
		    relay_fail(up, "broken Bind packet");
	if (name[0] == '\0')
		return relay_request(up);
	const struct prepared *stmt = find_statement(up, name);

	if (stmt == NULL)
		return up->c->hold ? RELAY_SHORT : RELAY_STOP;
	if (track_add(&up->s->track, FE_BIND, TRACK_FORWARD, NULL) < 0)
		return no_memory(up);
	c->pc.pool->counted.now.bind_count++;
	const uint8_t *rest = at + strlen(name) + 1;
	uint8_t head[MSG_HEADER];

	head[0] = FE_BIND;
	msg_put_u32(head + 1, (uint32_t)(up->size - 1 - (size_t)(rest - at) +
	    stmt->name_len));
	outbox_copy(&up->out, head, sizeof head);
	outbox_pass(&up->out, portal, (size_t)(at - portal));
	outbox_copy(&up->out, stmt->name, stmt->name_len);
	if (end > rest)
		outbox_pass(&up->out, rest, (size_t)(end - rest));
	c->skip = (uint32_t)(up->size - here);
	up->used = here;
	return RELAY_NEXT;
}

/* "S" and a name that is not empty: a statement of ours. NULL: not. */
static const char *statement_name(const struct relay_up *up)
{
	const uint8_t *body = up->m + MSG_HEADER;
	const size_t len = up->size - MSG_HEADER;

	if (len < 2 || body[0] != 'S')
		return NULL;
	const char *name = string_at(body + 1, len - 1);

	return name == NULL || name[0] == '\0' ? NULL : name;
}

/* Is the message whole and sound? */
static enum relay_step check_target(struct relay_up *up, const char *broken)
{
	const size_t len = up->size - MSG_HEADER;

	if (up->have < up->size && up->size <= NAMES_MAX)
		return RELAY_SHORT;
	if (len < 2 || up->size > NAMES_MAX || string_at(up->m + MSG_HEADER + 1, len - 1) == NULL)
		return relay_fail(up, broken);
	return RELAY_NEXT;
}

enum relay_step relay_describe(struct relay_up *up)
{
	const enum relay_step step = check_target(up, "broken Describe packet");

	if (step != RELAY_NEXT)
		return step;
	const char *name = statement_name(up);

	if (name == NULL)
		return relay_request(up);
	const struct prepared *stmt = find_statement(up, name);

	if (stmt == NULL)
		return up->c->hold ? RELAY_SHORT : RELAY_STOP;
	if (track_add(&up->s->track, FE_DESCRIBE, TRACK_FORWARD, NULL) < 0)
		return no_memory(up);
	send_named(up, FE_DESCRIBE, "S", stmt);
	up->used = up->size;
	return RELAY_NEXT;
}

enum relay_step relay_close(struct relay_up *up)
{
	struct client *c = up->c;
	const enum relay_step step = check_target(up, "broken Close packet");

	if (step != RELAY_NEXT)
		return step;
	const char *name = statement_name(up);

	if (name == NULL)
		return relay_request(up);
	struct prepared_name *n = prepared_name_find(c->statements, name);
	struct prepared_op *op = prepared_op_new(PREPARED_UNNAMED,
	    n == NULL ? NULL : n->stmt, name);

	if (op == NULL)
		return no_memory(up);
	prepared_name_remove(&c->statements, name);
	return relay_fake(up, FE_CLOSE, op);
}

bool relay_is_local_close(const struct relay_up *up)
{
	return up->have >= up->size && statement_name(up) != NULL;
}
