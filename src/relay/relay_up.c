/* relay_up.c - the hot path, from client to server.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/probe.h"
#include "base/timeouts.h"
#include "broker/broker.h"
#include "broker/vacate.h"
#include "notify/listener.h"
#include "pool/tally.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "proto/track_run.h"
#include "relay/relay_columns.h"
#include "relay/relay_deallocate.h"
#include "relay/relay_flight.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"
#include "relay/relay_prepared.h"
#include "relay/relay_repeat.h"
#include "relay/relay_reset.h"
#include "relay/relay_unnamed.h"
#include "relay/relay_watch.h"
#include "session/sessions.h"
#include "session/slow.h"
#include "sql/effects.h"
#include "sql/sql.h"

/* --- one handler a kind of message --- */

/*
 * A message behind a DISCARD ALL depends on its success: is a statement still
 * prepared? The message is not sent before that is known. A long query may have
 * a DISCARD ALL where we don't see it.
 */
static bool is_watershed(struct relay_up *up)
{
	if (relay_reset_asked(up))
		return true;
	/* what it has come with it has again on the next server */
	if (up->c->brought != NULL &&
	    (relay_effects(up) & EFFECT_RESETS) != 0)
		return true;
	return up->named && (relay_effects(up) & EFFECT_FORGETS) != 0;
}

/*
 * By statement: what stands behind is not sent before it is known that this has
 * left no transaction. Amid a COPY the server waits for what stands behind.
 */
static inline bool ends_alone(const struct relay_up *up)
{
	return up->s->ps.mode == POOL_STATEMENT &&
	    !track_wants_data(&up->s->track);
}

/* Query and FunctionCall. */
static enum relay_step pass_call(struct relay_up *up)
{
	const bool in_batch = up->s->keep.flight == NULL &&
	    track_is_in_batch(&up->s->track);
	const enum relay_step step = relay_request(up);

	if (in_batch && step == RELAY_NEXT)
		track_tag(&up->s->track, 1);
	if (up->watched && step == RELAY_NEXT)
		relay_watch_call(up);
	if (up->named && step == RELAY_NEXT)
		up->s->dialect.pending = true;
	return step;
}

static enum relay_step on_call(struct relay_up *up)
{
	const enum relay_step step = relay_reset_call(up);

	if (step != RELAY_NEXT)
		return step;
	up->c->relay.hold = up->c->relay.resetting != RESET_NONE;
	return pass_call(up);
}

static enum relay_step on_query(struct relay_up *up)
{
	enum relay_step step;

	if (relay_is_cut(up))
		return RELAY_SHORT;
	if (!sessions_settings(up->c->ss)->disable_pqexec) {
		if (up->caches &&
		    (step = relay_unnamed_end(up)) != RELAY_NEXT)
			return step;
		if (relay_deallocate(up, &step))
			return step;
		if (relay_reset_waits(up))
			return relay_wait(up);
		up->c->relay.hold = is_watershed(up) || ends_alone(up) ||
		    up->c->relay.resetting != RESET_NONE;
		relay_dealloc_clear(&up->c->relay);
		return pass_call(up);
	}
	log_at(LEVEL_ERROR, &up->c->who,
	    "client used \"Query\" packet type");
	return relay_fail(up, CLOSE_PQEXEC_DISALLOWED);
}

/* As with a DISCARD ALL that is a simple query. */
static enum relay_step on_execute(struct relay_up *up)
{
	const bool waits = relay_execute_holds(&up->c->relay);

	if (waits && up->have < up->size)
		return RELAY_SHORT;
	if (up->caches)
		relay_unnamed_execute(up);
	const enum relay_step step = up->c->relay.dealloc.name != NULL ?
	    relay_dealloc_execute(up) : relay_request(up);

	if (waits && step == RELAY_NEXT)
		(void)relay_wait(up);
	return step;
}

/* What comes behind a RESET has the values that the client then has. */
static enum relay_step on_sync(struct relay_up *up)
{
	up->c->relay.hold = up->c->relay.resetting != RESET_NONE ||
	    ends_alone(up);
	return relay_request(up);
}

static enum relay_step on_copy_end(struct relay_up *up)
{
	struct track *const t = &up->s->track;

	if (track_is_full(t))
		return RELAY_SHORT;
	/* the Sync ahead of the data was a part of it: another one has to come */
	if (track_wants_data(t) && track_req(t, 0)->type != FE_QUERY)
		up->c->relay.hold = false;
	if (track_add(t, (char)up->m[0], TRACK_FORWARD, NULL) < 0)
		return relay_no_memory(up);
	relay_pass(up);
	return RELAY_NEXT;
}

static enum relay_step on_pass(struct relay_up *up)
{
	relay_pass(up);
	return RELAY_NEXT;
}

/*
 * PostgreSQL would refuse one with a body, and discard all behind it up to a
 * Sync; but amid a COPY it would not. As no answer to a Flush is awaited, nobody
 * could tell afterwards to which request its error belongs.
 */
static enum relay_step on_flush(struct relay_up *up)
{
	if (up->size != MSG_HEADER)
		return relay_fail(up, CLOSE_BROKEN_FLUSH_PACKET);
	return on_pass(up);
}

static enum relay_step on_terminate(struct relay_up *up)
{
	if (up->s != NULL)
		outbox_flush(&up->out);
	client_close(up->c, CLOSE_CLIENT_CLOSE_REQUEST);
	return RELAY_STOP;
}

/* A Parse of a name that is the client's own business. */
static enum relay_step on_parse(struct relay_up *up)
{
	if (relay_is_cut(up) || relay_own_is_cut(up))
		return RELAY_SHORT;
	const enum relay_step step = relay_reset_parse(up);

	if (step != RELAY_NEXT)
		return step;
	if (relay_own_changes(up))
		relay_own_replaces(up);
	relay_watch_parse(up);
	/* of before a RELOAD, maybe */
	up->c->relay.execute_holds = false;
	return relay_request(up);
}

static enum relay_step on_unknown(struct relay_up *up)
{
	return relay_fail(up, CLOSE_UNKNOWN_PKT);
}

enum need {
	NEED_NONE,	/* handled with or without a server */
	NEED_SERVER,	/* work: without a server the client asks for one */
	NEED_LINK,	/* means nothing without one: Flush, late COPY data */
};

struct row {
	enum relay_step (*plain)(struct relay_up *up);
	enum relay_step (*named)(struct relay_up *up);	/* when translating */
	enum need need;
};

/* What a frontend message does; the rest is unknown. */
static const struct row rows[256] = {
	[FE_QUERY] = { on_query, on_query, NEED_SERVER },
	[FE_FUNCTION_CALL] = { on_call, on_call, NEED_SERVER },
	[FE_SYNC] = { on_sync, on_sync, NEED_SERVER },
	[FE_EXECUTE] = { relay_request, on_execute, NEED_SERVER },
	[FE_PARSE] = { on_parse, relay_parse, NEED_SERVER },
	[FE_BIND] = { relay_own_bind, relay_bind, NEED_SERVER },
	[FE_DESCRIBE] = { relay_own_describe, relay_describe, NEED_SERVER },
	[FE_CLOSE] = { relay_own_close, relay_close, NEED_SERVER },
	[FE_FLUSH] = { on_flush, on_flush, NEED_LINK },
	[FE_COPY_DATA] = { on_pass, on_pass, NEED_LINK },
	[FE_COPY_DONE] = { on_copy_end, on_copy_end, NEED_LINK },
	[FE_COPY_FAIL] = { on_copy_end, on_copy_end, NEED_LINK },
	[FE_TERMINATE] = { on_terminate, on_terminate, NEED_NONE },
};

/* --- the walk over a burst --- */

static void bad_header(struct relay_up *up)
{
	char text[MSG_BAD_TEXT];

	relay_fail_cause(up, (struct close_cause){
	    .reason = CLOSE_BAD_PACKET_HEADER,
	    .text = msg_bad_header(up->m, up->have, text),
	});
}

/* Hot: may the text begin as one that vacate.h is about? */
static inline bool wants_alone(const struct relay_up *up)
{
	const uint8_t *const body = up->m + MSG_HEADER;

	if (up->have <= MSG_HEADER + 1)
		return false;
	if (up->m[0] == FE_QUERY)
		return sql_may_want_alone((char)body[0]);
	/* a name stands ahead of the text */
	return up->m[0] == FE_PARSE && (body[0] != '\0' ||
	    sql_may_want_alone((char)body[1]));
}

#define ALONE_MAX 1024	/* bytes of such a message, with its comments */

/* The same of a message that is not whole: then nobody could tell. */
static bool is_cut_early(const struct relay_up *up)
{
	return up->size <= ALONE_MAX &&
	    (up->m[0] == FE_QUERY || up->m[0] == FE_PARSE) &&
	    (up->have <= MSG_HEADER + 1 || wants_alone(up));
}

/* Out of the hot path: the text of a query that begins is read. */
static __attribute__((noinline)) void read_start(struct relay_up *up)
{
	struct client *const c = up->c;

	if (sessions_settings(c->ss)->log_min_duration > 0)
		slow_note(c, up->m, up->have < up->size ? up->have : up->size);
	if (c->vacancy != NULL || wants_alone(up))
		vacate_look(c, up->m, up->have);
}

/* A query begins with the first message after the last one was answered. */
static inline void note_start(struct relay_up *up)
{
	struct client *c = up->c;
	struct counters *n = &c->pc.pool->counted.now;

	/* the query has been here since this turn began */
	c->query_start = time_now();
	c->waited = 0;
	if (sessions_settings(c->ss)->log_min_duration > 0 ||
	    c->vacancy != NULL || wants_alone(up))
		read_start(up);
	n->query_count++;
	PROBE(query__start, c->id);
	if (c->xact_start != 0)
		return;
	c->xact_start = c->query_start;
	n->xact_count++;
}

/*
 * There is work, and no server. Returns true when one is linked now; else
 * *step says what follows.
 */
static bool get_server(struct relay_up *up, enum relay_step *step)
{
	struct client *c = up->c;

	if (c->relay.discards) {
		*step = relay_discard(up);
		return false;
	}
	*step = RELAY_SHORT;
	if (relay_is_half(up))
		return false;
	if (up->named && up->m[0] == FE_CLOSE && relay_is_local_close(up)) {
		*step = relay_close(up);
		return false;
	}
	if (up->m[0] == FE_QUERY && !sessions_settings(c->ss)->disable_pqexec &&
	    relay_deallocate(up, step))
		return false;
	if (c->query_start == 0)
		note_start(up);
	*step = RELAY_STOP;
	if (!broker_acquire(c, &(struct burst){ (uint8_t *)up->m, up->have }))
		return false;
	up->s = server_of(c->pc.server);
	outbox_init(&up->out, &up->s->stream);
	return up->s->keep.flight == NULL || relay_flight_begin(up);
}

/* The rest of a message whose head has passed, or was dropped, before. */
static void pass_rest(struct relay_up *up)
{
	struct client *c = up->c;
	const size_t n = up->have < c->rest.bytes ? up->have : c->rest.bytes;

	if (c->relay.text != NULL)
		relay_watch_long(up, up->m, n, n == c->rest.bytes);
	if (!c->rest.dropped)
		outbox_pass(&up->out, up->m, n);
	c->rest.bytes -= (uint32_t)n;
	if (c->rest.bytes == 0)
		c->rest.dropped = false;
	up->used = n;
	up->seen = up->m + n;
}

/*
 * Who listens may listen to less: what to is its server's to know before. Not
 * while nothing can be done with what is here: once told, and asked nothing, it
 * would be looked at again, over and over.
 */
static bool may_listen(const struct relay_up *up)
{
	return up->c->listening == NULL || (!relay_is_half(up) &&
	    listener_brings(&(struct listener_request){ up->c, up->s, up->m,
	    up->size, up->have }));
}

/*
 * A message need not wait, so the next one need not. But the data of a COPY in
 * a simple query tells nothing of its end.
 */
static void end_hold(const struct relay_up *up, const struct row *r)
{
	if (r->need != NEED_LINK || up->s == NULL ||
	    !track_awaits_ready(&up->s->track))
		up->c->relay.hold = false;
}

/*
 * It may run a statement of which nobody knows who has its name, or bind one whose
 * Bind is read.
 */
static enum relay_step by_row_watched(struct relay_up *up, const struct row *r)
{
	if (up->s->trace.binds && up->m[0] == FE_BIND &&
	    relay_watch_unnamed_bind(up) != RELAY_NEXT)
		return RELAY_SHORT;
	const enum relay_step step = up->named ? r->named(up) : r->plain(up);

	if (step == RELAY_NEXT && up->s->trace.lasting)
		up->s->trace.marked = true;
	return step;
}

static inline enum relay_step by_row(struct relay_up *up, const struct row *r)
{
	enum relay_step step;

	/* Message Flow, Extended Query: discarded up to Sync, also by us */
	if (up->named && r->named != r->plain && up->s->track.aborted)
		return relay_drop(up);
	if (up->c->relay.texts != NULL && up->m[0] == FE_BIND &&
	    (step = relay_reset_bind(up)) != RELAY_NEXT)
		return step;
	if (r->need == NEED_SERVER && (up->s->trace.lasting ||
	    up->s->trace.binds))
		return by_row_watched(up, r);
	return up->named ? r->named(up) : r->plain(up);
}

static enum relay_step next_message(struct relay_up *up)
{
	struct client *c = up->c;
	enum relay_step step;

	if (c->rest.bytes > 0) {
		pass_rest(up);
		return RELAY_NEXT;
	}
	if (up->have < MSG_HEADER)
		return RELAY_SHORT;
	up->size = msg_size(up->m, up->max);
	if (up->size == 0) {
		bad_header(up);
		return RELAY_STOP;
	}
	const struct row *r = &rows[up->m[0]];

	if (up->s != NULL && relay_must_hold(c, up->s))
		return RELAY_SHORT;
	end_hold(up, r);
	if (r->plain == NULL)
		return on_unknown(up);
	if (r->need == NEED_LINK && up->s == NULL)
		return relay_drop(up);
	if (r->need == NEED_SERVER) {
		if (up->have < up->size && is_cut_early(up))
			return RELAY_SHORT;
		if (up->s == NULL && !get_server(up, &step))
			return step;
		if (c->query_start == 0)
			note_start(up);
		if (track_is_full(&up->s->track) || !may_listen(up))
			return RELAY_SHORT;
		up->used = relay_run_up(up);
		if (up->used > 0) {
			outbox_pass(&up->out, up->m, up->used);
			return RELAY_NEXT;
		}
		if (track_is_unsure(&up->s->track) && up->m[0] != FE_SYNC)
			return relay_fail(up, CLOSE_COPY_UNCERTAIN);
	}
	return by_row(up, r);
}

/* A flight is one piece. */
static inline bool is_late(struct relay_up *up, size_t *work)
{
	if (!loop_ends_piece(work, up->used) ||
	    (up->s != NULL && up->s->keep.flight != NULL))
		return false;
	up->late = loop_is_long(up->c->stream.loop);
	return up->late;
}

/* Returns the bytes that are done with; c may be closed. */
static size_t walk(struct relay_up *up, const struct burst *b)
{
	size_t used = 0, work = 0;

	do {
		up->m = b->at + used;
		up->have = b->len - used;
		enum relay_step step = next_message(up);

		if (!client_is_open(up->c))
			break;
		if (step == RELAY_NEXT)
			used += up->used;
		if (up->s != NULL && up->s->keep.flight != NULL)
			step = relay_flight_passed(up, step);
		if (step != RELAY_NEXT)
			break;
		/* hot: most bursts are one message, or one run */
	} while (used < b->len && !is_late(up, &work));
	return used;
}

bool relay_up_burst(struct relay_up *up, const struct burst *b)
{
	struct client *c = up->c;

	up->named = relay_translates(c);
	up->watched = relay_watches(c->pc.pool);
	up->caches = up->named && (c->relay.stands || (sessions_settings(
	    c->ss)->cache_unnamed_statements && relay_unnamed_may(c)));
	up->injected = 0;
	up->first = NULL;
	up->seen = up->start = b->at;
	up->read = NULL;
	up->sets = up->calls = up->parsed = up->late = false;
	up->bound = NULL;
	relay_columns_begin(up);
	up->owed = up->s != NULL && !track_is_empty(&up->s->track);
	up->told = up->s == NULL || (!up->owed && up->s->track.ready);
	if (up->s != NULL && up->told)
		dialect_told(&up->s->dialect, up->s->track.status);
	outbox_init(&up->out, up->s == NULL ? NULL : &up->s->stream);
	if (up->s != NULL && up->s->keep.flight != NULL &&
	    !relay_flight_begin(up))
		return false;
	const size_t used = walk(up, b);

	if (!client_is_open(c))
		return false;
	if (up->s != NULL && up->s->keep.flight != NULL)
		relay_flight_wait(up->s);
	c->pc.pool->counted.now.received += used;
	if (used > 0 && up->s != NULL)
		up->s->keep.fresh = false;
	if (up->first != NULL)
		relay_repeat_keep(up, b, used);
	if (up->learns.of != NULL && up->learns.portal[0] == '\0')
		c->relay.learns = up->learns.of->stmt->number;
	if (up->s != NULL)
		outbox_flush(&up->out);
	else	/* the pool may sleep, but this is to be counted */
		wheel_wake(&c->pc.pool->wheel);
	if (carry_rest(&c->carry, b, used) == 0)
		return true;
	client_fail(c, CLOSE_OUT_OF_MEMORY);
	return false;
}
