/* relay_unnamed.c - unnamed statements for which servers have a named one.
 *
 * A text that comes again gets a statement of the server, if it means the same
 * each time (EFFECT_TIMELESS), and is answered for by that where the server
 * would parse it to the same: nothing was set that is not known, and no schema
 * was changed, since it was sent. (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include "relay/relay_unnamed.h"

#include "proto/msg.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "proto/track_run.h"
#include "proto/unnamed.h"
#include "relay/relay_deallocate.h"
#include "relay/relay_own.h"
#include "relay/relay_prepared.h"
#include "relay/relay_schema.h"
#include "session/flight.h"
#include "session/sessions.h"
#include "sql/effects.h"
#include "state/keep.h"

static const uint8_t closing[] = { FE_CLOSE, 0, 0, 0, 6, 'S', 0 };
static const uint8_t sync[] = { FE_SYNC, 0, 0, 0, 4 };

bool relay_unnamed_may(const struct client *c)
{
	const struct pool *const p = c->pc.pool;

	/* what a session has set, is known where it is asked */
	return p->limits.state != STATE_FORGET && !p->limits.state_always &&
	    sessions_settings(c->ss)->max_prepared_statements > 0;
}

/* --- what runs ahead of a Parse in the same batch --- */

/* Is the message the first one of its batch, but for SETs of ours? */
static bool is_first(const struct server *s)
{
	return track_is_empty(&s->track) || flight_is_fresh(s);
}

/* May it pass as it is, and no more be noted than that it is owed? */
static bool is_plain(const struct relay_up *up, size_t size)
{
	const uint8_t *const body = up->m + MSG_HEADER;

	switch (up->m[0]) {
	case FE_SYNC:
		return true;
	case FE_DESCRIBE:
		return size == MSG_HEADER + 2 && body[0] == 'P';
	case FE_EXECUTE:
		return size > MSG_HEADER && body[0] == '\0' &&
		    up->c->relay.batch == BATCH_BOUND &&
		    !track_is_empty(&up->s->track);
	default:
		return false;
	}
}

size_t relay_unnamed_run(const struct relay_up *up)
{
	const size_t size = up->have < MSG_HEADER ? 0 :
	    msg_size(up->m, up->max);

	if (size == 0 || size > up->have || track_room(&up->s->track) == 0 ||
	    !is_plain(up, size))
		return 0;
	track_add_plain(&up->s->track, (char)up->m[0]);
	return size;
}

static void note_parse(const struct relay_up *up, bool harmless)
{
	struct relay_state *const r = &up->c->relay;
	const bool so_far = is_first(up->s) || r->batch == BATCH_PARSED ||
	    r->batch == BATCH_BOUND;

	r->batch = so_far && harmless ? BATCH_PARSED : BATCH_UNSURE;
}

void relay_unnamed_bind(const struct relay_up *up, bool named, bool ours)
{
	struct relay_state *const r = &up->c->relay;
	const bool so_far = r->batch == BATCH_PARSED || r->batch == BATCH_BOUND;

	if (named)
		r->batch = BATCH_UNSURE;
	else if (ours)
		r->batch = is_first(up->s) || so_far ? BATCH_BOUND :
		    BATCH_UNSURE;
	else
		r->batch = r->batch == BATCH_PARSED && !is_first(up->s) ?
		    BATCH_BOUND : BATCH_UNSURE;
}

void relay_unnamed_execute(const struct relay_up *up)
{
	if (is_first(up->s) || up->have <= MSG_HEADER ||
	    up->m[MSG_HEADER] != '\0' || up->c->relay.batch != BATCH_BOUND)
		up->c->relay.batch = BATCH_UNSURE;
}

/* --- what a Parse would find now --- */

/* Has the client, since it was lent s, done nothing that a Parse might see? */
static bool is_untouched(const struct server *s)
{
	const struct trace *const t = &s->trace;

	return t->sets == 0 && t->local == 0 && !t->calls && !t->failed && !t->marked &&
	    t->pins == 0 && !t->unlisted && !t->discarded && !t->lasting &&
	    s->schema_changed == SCHEMA_SAME && !s->ps.stained;
}

bool relay_unnamed_is_known(const struct relay_up *up)
{
	const struct client *const c = up->c;
	const struct server *const s = up->s;
	const struct flight *const f = s->keep.flight;

	return sessions_settings(c->ss)->cache_unnamed_statements &&
	    relay_unnamed_may(c) && c->relay.resetting == RESET_NONE &&
	    is_untouched(s) && s->keep.pins == 0 && !s->keep.temporary &&
	    (f == NULL || prepared_world_params(f->params, s->params)) &&
	    !track_may_be_failed(&s->track) &&
	    (is_first(s) || c->relay.batch == BATCH_PARSED ||
	    c->relay.batch == BATCH_BOUND);
}

static struct prepared_world world_of(const struct server *s)
{
	return (struct prepared_world){ .params = s->params,
	    .baggage = s->keep.has, .changes = relay_schema_changes(s->ss) };
}

bool relay_unnamed_is_right(const struct relay_up *up,
    struct prepared_use *use)
{
	const struct prepared_world now = world_of(up->s);

	return !relay_unnamed_is_known(up) ||
	    (use->world != NULL && prepared_world_is(use->world, &now));
}

void relay_unnamed_note(const struct relay_up *up, struct prepared *stmt,
    bool known)
{
	struct prepared_use *const use = prepared_uses_touch(&up->s->prepared,
	    stmt);
	const struct prepared_world now = world_of(up->s);

	/* without memory it is parsed again the next time */
	if (known && use != NULL && use->world == NULL)
		use->world = prepared_world_new(&now);
}

/* --- what stands for it --- */

static struct prepared_name *find_name(const struct client *c)
{
	return prepared_name_find(c->statements, "");
}

bool relay_unnamed_stands(const struct relay_up *up)
{
	return find_name(up->c) != NULL;
}

bool relay_unnamed_is_open(const struct relay_up *up)
{
	const struct track *const t = &up->s->track;

	/* the message is discarded, or ends a COPY */
	return !t->aborted && !track_wants_data(t) &&
	    relay_is_open(up->s, "", NULL);
}

/* "" stands for stmt from now on. 0 or -1. */
static int stand_for(struct client *c, struct prepared *stmt)
{
	struct prepared_name *const n = find_name(c);

	c->relay.stands = true;
	if (n == NULL)
		return prepared_name_add(&c->statements, "", stmt);
	if (n->stmt != stmt)
		prepared_name_move(n, stmt);
	/* the client is to be told anew */
	n->told = (struct prepared_shape){ 0 };
	return 0;
}

/* The server's own one goes, and what "" stands for (n, or NULL). 0 or -1. */
static int end_both(struct relay_up *up, struct prepared_name *n)
{
	struct prepared_op *const op = n == NULL ? NULL :
	    prepared_op_of(PREPARED_UNNAMED, n);

	if (n != NULL && op == NULL)
		return -1;
	const unsigned place = up->s->track.count;

	outbox_pass(&up->out, closing, sizeof closing);
	prepared_name_remove(&up->c->statements, "");
	if (track_add(&up->s->track, FE_CLOSE, TRACK_SKIP, op) < 0)
		return -1;
	relay_own_note_close(up, place);
	return 0;
}

enum relay_step relay_unnamed_end(struct relay_up *up)
{
	struct prepared_name *const n = find_name(up->c);
	struct track *const t = &up->s->track;

	/* the message is discarded, or ends a COPY */
	if (t->aborted || track_wants_data(t))
		return RELAY_NEXT;
	if (relay_is_open(up->s, "", NULL))
		return relay_wait(up);
	if (n == NULL)
		return RELAY_NEXT;
	if (track_is_empty(t)) {
		prepared_name_remove(&up->c->statements, "");
		return RELAY_NEXT;
	}
	/* a Sync ahead of its time would end the skipping */
	const bool ended = track_awaits_ready(t) && !track_may_be_skipped(t);

	if (end_both(up, n) < 0)
		return relay_no_memory(up);
	/* a Query is not to be a part of a batch */
	if (up->m[0] != FE_QUERY || !ended)
		return RELAY_NEXT;
	outbox_pass(&up->out, sync, sizeof sync);
	return track_add(t, FE_SYNC, TRACK_SKIP, NULL) < 0 ?
	    relay_no_memory(up) : RELAY_NEXT;
}

/* --- Parse --- */

/* A text that has come before gets a statement. NULL: it does not. */
static struct prepared *give(struct client *c, const uint8_t *body, size_t len)
{
	if (c->ss->unnamed == NULL)
		c->ss->unnamed = unnamed_new();
	if (c->ss->unnamed == NULL ||
	    !unnamed_is_again(c->ss->unnamed, body, len) ||
	    !prepared_table_make_room(c->ss->prepared,
	    prepared_text_bytes(len) + prepared_name_bytes(""),
	    sessions_statement_memory(c->ss)))
		return NULL;
	return unnamed_add(c->ss->unnamed, c->ss->prepared, body, len);
}

/* The statement for the Parse, whose text is noted; NULL: it has none. */
static struct prepared *look(struct relay_up *up)
{
	const uint8_t *const body = up->m + MSG_HEADER + 1;
	const size_t len = up->size - MSG_HEADER - 1;
	const struct unnamed *const u = up->c->ss->unnamed;
	struct prepared *stmt = u == NULL || up->have < up->size ? NULL :
	    unnamed_find(u, body, len);
	const bool timeless = stmt != NULL || (up->have >= up->size &&
	    relay_is_parse_body(body, len) &&
	    (relay_effects(up) & EFFECT_TIMELESS) != 0);
	const bool known = timeless && relay_unnamed_is_known(up);

	note_parse(up, timeless ||
	    (relay_effects(up) & EFFECT_BEGINS) != 0);
	if (!known)
		return NULL;
	return stmt != NULL ? stmt : give(up->c, body, len);
}

/* The server has it as it is to be. */
static enum relay_step answer(struct relay_up *up, struct prepared *stmt)
{
	struct prepared_name *const n = find_name(up->c);
	struct prepared_op *op = NULL;

	/* what is ahead may fail */
	if (!track_is_empty(&up->s->track) && (n == NULL || n->stmt != stmt)) {
		op = n == NULL ? prepared_op_new(PREPARED_NAMED, stmt, "") :
		    prepared_op_of(PREPARED_MOVED, n);
		if (op == NULL)
			return relay_no_memory(up);
	}
	if (stand_for(up->c, stmt) == 0)
		return relay_fake(up, FE_PARSE, op);
	prepared_op_free(op);
	return relay_no_memory(up);
}

/*
 * The server is to parse it, under our name. If it fails, there is no unnamed
 * statement: not that of before either.
 */
static enum relay_step parse(struct relay_up *up, struct prepared *stmt)
{
	const bool has = prepared_uses_touch(&up->s->prepared, stmt) != NULL;

	if (end_both(up, find_name(up->c)) < 0 ||
	    (has && relay_send_close(up, stmt) < 0) ||
	    stand_for(up->c, stmt) < 0 ||
	    relay_send_parse(up, stmt, TRACK_FORWARD,
	    prepared_op_new(PREPARED_NAMED | PREPARED_USED, stmt, "")) < 0)
		return relay_no_memory(up);
	relay_unnamed_note(up, stmt, true);
	up->used = up->size;
	return RELAY_NEXT;
}

static enum relay_step take(struct relay_up *up, struct prepared *stmt)
{
	struct client *const c = up->c;
	struct prepared_use *const use = prepared_uses_touch(&up->s->prepared,
	    stmt);
	const struct prepared_world now = world_of(up->s);

	relay_dealloc_clear(&c->relay);
	c->relay.execute_holds = false;
	c->pc.pool->counted.now.client_parse_count++;
	return use != NULL && use->world != NULL &&
	    prepared_world_is(use->world, &now) ? answer(up, stmt) :
	    parse(up, stmt);
}

bool relay_unnamed_parse(struct relay_up *up, enum relay_step *step)
{
	*step = RELAY_SHORT;
	if (up->have < up->size && up->size <= UNNAMED_MAX)
		return true;
	if (track_wants_data(&up->s->track))
		return false;
	*step = relay_is_open(up->s, "", NULL) ? relay_wait(up) : RELAY_NEXT;
	if (*step != RELAY_NEXT)
		return true;
	struct prepared *const stmt = look(up);

	*step = stmt != NULL ? take(up, stmt) : relay_unnamed_end(up);
	return stmt != NULL || *step != RELAY_NEXT;
}
