/* relay_deallocate.c - DEALLOCATE of a name that only we know.
 *
 * The client's statement has another name on the servers, or none. Outside of
 * a transaction we know the answer. Inside, or behind other requests, only the
 * server does: it is told to deallocate a statement that is there for that. The
 * same is done with the extended protocol, which some drivers use for it.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "relay/relay.h"
#include "relay/relay_deallocate.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"
#include "session/sessions.h"
#include "sql/sql.h"

/* What the server gets. An empty statement is prepared in any transaction. */
#define DUMMY PREPARED_NAME_DUMMY
#define SQL "deallocate \"" DUMMY "\""

static const uint8_t closing[] = { FE_CLOSE, 0, 0, 0, 5 + sizeof DUMMY, 'S' };
static const uint8_t parsing[] = { FE_PARSE, 0, 0, 0, 7 + sizeof DUMMY };
static const uint8_t no_text[] = { '\0', 0, 0 };	/* and no types */
static const uint8_t asking[] = { FE_QUERY, 0, 0, 0, 4 + sizeof SQL };
static const uint8_t unnamed[] = { FE_PARSE, 0, 0, 0, 7 + sizeof SQL, '\0' };

/* What we say ourselves. */
static const uint8_t answer[] = "C\0\0\0\017DEALLOCATE\0" "Z\0\0\0\005I";

/* No server is linked, so no transaction is open, and nothing is owed. */
static enum relay_step answer_now(struct relay_up *up, const char *name)
{
	struct client *c = up->c;
	struct outbox o;

	prepared_name_remove(&c->statements, name);
	prepared_name_remove(&c->statements, "");	/* as by any Query */
	relay_own_drop(c);
	outbox_init(&o, &c->stream);
	outbox_pass(&o, answer, sizeof answer - 1);
	outbox_flush(&o);
	up->used = up->size;
	return RELAY_NEXT;
}

int relay_prepare_dummy(struct relay_up *up)
{
	struct track *t = &up->s->track;

	outbox_pass(&up->out, closing, sizeof closing);
	outbox_pass(&up->out, DUMMY, sizeof DUMMY);
	outbox_pass(&up->out, parsing, sizeof parsing);
	outbox_pass(&up->out, DUMMY, sizeof DUMMY);
	outbox_pass(&up->out, no_text, sizeof no_text);
	return track_add(t, FE_CLOSE, TRACK_SKIP, NULL) < 0 ||
	    track_add(t, FE_PARSE, TRACK_SKIP, NULL) < 0 ? -1 : 0;
}

static int ask_server(struct relay_up *up, struct prepared_op *op)
{
	if (relay_prepare_dummy(up) < 0) {
		prepared_op_free(op);
		return -1;
	}
	outbox_pass(&up->out, asking, sizeof asking);
	outbox_pass(&up->out, SQL, sizeof SQL);
	return track_add(&up->s->track, FE_QUERY, TRACK_FORWARD, op);
}

static enum relay_step deallocate(struct relay_up *up,
    const struct prepared_name *n)
{
	struct client *c = up->c;

	if (up->s == NULL)
		return answer_now(up, n->name);
	struct prepared_op *op = prepared_op_of(PREPARED_UNNAMED, n);

	if (op == NULL)
		return relay_no_memory(up);
	prepared_name_remove(&c->statements, op->name);
	if (ask_server(up, op) < 0)
		return relay_no_memory(up);
	relay_own_note(up, up->s->track.count - 1);
	/* what comes behind depends on the answer */
	c->relay.hold = true;
	up->used = up->size;
	return RELAY_NEXT;
}

struct dealloc_text {
	const uint8_t *sql;
	size_t n;
	char name[SQL_NAME_MAX];	/* set to what it deallocates, or "" */
};

/*
 * The name that a text deallocates, if it is one of the client's. NULL: it is not,
 * or *step says to wait before that can be told.
 */
static struct prepared_name *relay_deallocate_find_name(struct relay_up *up,
    struct dealloc_text *text, enum relay_step *step)
{
	char name[SQL_NAME_MAX];
	const struct track *t = up->s == NULL ? NULL : &up->s->track;

	*step = RELAY_NEXT;
	text->name[0] = '\0';
	if (!sql_deallocates((const char *)text->sql, text->n, name))
		return NULL;
	/* the message is discarded, or ends a COPY */
	if (t != NULL && (t->aborted || track_wants_data(t)))
		return NULL;
	struct prepared_name *found = prepared_name_find(up->c->statements,
	    name);

	memcpy(text->name, name, sizeof name);

	if (t == NULL || (!relay_is_open(up->s, name, NULL) &&
	    (found != NULL || t->op_count == 0)))
		return found;
	*step = relay_wait(up);
	return NULL;
}

bool relay_dealloc_query(struct relay_up *up, enum relay_step *step)
{
	struct dealloc_text text = { .sql = up->m + MSG_HEADER,
		.n = up->size - MSG_HEADER };
	struct prepared_name *n = relay_deallocate_find_name(up, &text, step);

	if (n == NULL)
		return *step != RELAY_NEXT;
	relay_dealloc_clear(&up->c->relay);
	*step = deallocate(up, n);
	return true;
}

/* Is the message a suspect's text alone, with no types of parameters? */
static bool relay_deallocate_is_plain_parse(const struct relay_up *up)
{
	const uint8_t *text = up->m + MSG_HEADER + 1;
	const size_t n = up->size - MSG_HEADER - 1;

	return up->have >= up->size && n > sizeof no_text &&
	    sql_is_suspect((char)text[0]) &&
	    memchr(text, '\0', n) == text + n - sizeof no_text &&
	    memcmp(text + n - sizeof no_text, no_text, sizeof no_text) == 0;
}

/* The unnamed statement of the server is one that deallocates the dummy. */
static int relay_deallocate_prepare(struct relay_up *up, enum track_how how)
{
	if (relay_prepare_dummy(up) < 0 ||
	    track_add(&up->s->track, FE_PARSE, how, NULL) < 0)
		return -1;
	outbox_pass(&up->out, unnamed, sizeof unnamed);
	outbox_pass(&up->out, SQL, sizeof SQL);
	outbox_pass(&up->out, no_text + 1, sizeof no_text - 1);
	return 0;
}

/*
 * True: it is sent, or waits. Else the server gets it as it is: nor is there a
 * name, but the client may still prepare one ahead of the Execute.
 */
static bool relay_deallocate_parse(struct relay_up *up, enum track_how how,
    enum relay_step *step)
{
	struct dealloc_text text = { .sql = up->m + MSG_HEADER + 1,
		.n = up->size - MSG_HEADER - 1 };

	relay_dealloc_clear(&up->c->relay);
	if (!relay_deallocate_is_plain_parse(up))
		return false;
	const bool early = relay_deallocate_find_name(up, &text, step) == NULL;

	if (*step != RELAY_NEXT || text.name[0] == '\0')
		return *step != RELAY_NEXT;
	up->c->relay.dealloc.name = mem_strdup(text.name);
	up->c->relay.dealloc.early = early;
	if (up->c->relay.dealloc.name == NULL ||
	    (!early && relay_deallocate_prepare(up, how) < 0))
		*step = relay_no_memory(up);
	return !early || *step != RELAY_NEXT;
}

bool relay_dealloc_parse(struct relay_up *up, enum relay_step *step)
{
	if (!relay_deallocate_parse(up, TRACK_FORWARD, step))
		return false;
	if (*step != RELAY_NEXT)
		return true;
	relay_own_note(up, up->s->track.count - 1);
	up->used = up->size;
	return true;
}

bool relay_dealloc_again(struct relay_up *up, enum relay_step *step)
{
	return relay_deallocate_parse(up, TRACK_SKIP, step);
}

enum relay_step relay_dealloc_bind(struct relay_up *up, const char *portal,
    bool ours)
{
	struct client *c = up->c;

	if (!ours && (c->relay.dealloc.portal == NULL ||
	    !prepared_name_is(c->relay.dealloc.portal, portal)))
		return RELAY_NEXT;
	mem_free(c->relay.dealloc.portal);
	c->relay.dealloc.portal = ours ? mem_strndup(portal,
	    strnlen(portal, PREPARED_NAME_KEPT)) : NULL;
	return ours && c->relay.dealloc.portal == NULL ? relay_no_memory(up) :
	    RELAY_NEXT;
}

/* Does the message, an Execute, run the statement that deallocates? */
static bool runs_dealloc(const struct relay_up *up)
{
	const char *const ours = up->c->relay.dealloc.portal;
	const char *const portal = (const char *)up->m + MSG_HEADER;

	return ours != NULL &&
	    memchr(portal, '\0', up->size - MSG_HEADER) != NULL &&
	    prepared_name_is(ours, portal);
}

/* The server is to find a statement of the client's name. 0 or -1. */
static int stand_in(struct relay_up *up, const char *name)
{
	static const uint8_t types[] = { '\0', '\0', '\0' };	/* and no text */
	struct track *const t = &up->s->track;
	const size_t n = strlen(name) + 1;
	uint8_t head[MSG_HEADER];

	head[0] = FE_CLOSE;
	msg_put_u32(head + 1, (uint32_t)(4 + 1 + n));
	outbox_copy(&up->out, head, sizeof head);
	outbox_copy(&up->out, "S", 1);
	outbox_copy(&up->out, name, n);
	head[0] = FE_PARSE;
	msg_put_u32(head + 1, (uint32_t)(4 + n + sizeof types));
	outbox_copy(&up->out, head, sizeof head);
	outbox_copy(&up->out, name, n);
	outbox_pass(&up->out, types, sizeof types);
	return track_add(t, FE_CLOSE, TRACK_SKIP, NULL) < 0 ||
	    track_add(t, FE_PARSE, TRACK_SKIP, NULL) < 0 ? -1 : 0;
}

enum relay_step relay_dealloc_execute(struct relay_up *up)
{
	struct client *c = up->c;
	const struct prepared_name *n = runs_dealloc(up) ?
	    prepared_name_find(c->statements, c->relay.dealloc.name) : NULL;

	if (n == NULL)
		return relay_request(up);
	struct prepared_op *op = prepared_op_of(PREPARED_UNNAMED, n);

	if (op == NULL)
		return relay_no_memory(up);
	prepared_name_remove(&c->statements, c->relay.dealloc.name);
	if ((c->relay.dealloc.early &&
	    stand_in(up, c->relay.dealloc.name) < 0) ||
	    track_add(&up->s->track, FE_EXECUTE, TRACK_FORWARD, op) < 0)
		return relay_no_memory(up);
	relay_pass(up);
	return RELAY_NEXT;
}
