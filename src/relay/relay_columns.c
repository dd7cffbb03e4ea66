/* relay_columns.c - does a client know the columns that its statement has?
 *
 * A client reads rows by the description that it was given once. Where a server
 * parses the text later, or parsed it earlier, the description may be another
 * one: the server is asked before the client's Bind goes there, once for each
 * time that it has parsed the text. (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include "relay/relay_columns.h"

#include <string.h>

#include "proto/msg.h"
#include "proto/prepared_op.h"
#include "proto/track_look.h"
#include "relay/relay_prepared.h"

/* Is a Describe of stmt, or of a portal of it, on its way? */
static bool is_asked(const struct track *t, const struct prepared *stmt,
    unsigned changes)
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
	    is_asked(&up->s->track, n->stmt, PREPARED_TOLD));
}

enum relay_step relay_columns_ask(struct relay_up *up,
    const struct prepared_use *use)
{
	struct track *const t = &up->s->track;

	if (is_asked(t, use->stmt, PREPARED_TOLD | PREPARED_ASKED))
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
