/* relay_run.c - the hottest path: runs of messages that need no handler.
 *
 * All that most transactions are made of. A run is noted in one go, and passes
 * as one piece.
 * SPDX-License-Identifier: ISC */
#include "base/probe.h"
#include "pool/counters.h"
#include "pool/latencies.h"
#include "proto/msg.h"
#include "proto/sql.h"
#include "proto/sql_back.h"
#include "proto/sql_leave.h"
#include "proto/sql_seen.h"
#include "proto/track_look.h"
#include "proto/track_run.h"
#include "session/relay_own.h"
#include "session/relay_parts.h"
#include "session/relay_reset.h"
#include "session/relay_schema.h"
#include "session/relay_unnamed.h"
#include "session/relay_watch.h"
#include "session/sessions.h"
#include "session/slow.h"
#include "session/trace.h"

/* --- from client to server --- */

/* A Parse with a name that is the server's business. */
static bool is_watched(const char *body, size_t n)
{
	const size_t name = strnlen(body, n);

	return sql_may_leave(body, n) || (name < n &&
	    sql_may_matter(body + name + 1, n - name - 1));
}

/* The same of one that may reset. */
static bool may_reset(const char *body, size_t n)
{
	const size_t name = strnlen(body, n);

	return name < n && sql_back_may(body + name + 1, n - name - 1);
}

/* As is_plain(), of a Parse. What sql_seen.h knows does not matter either. */
static inline bool is_plain_parse(const struct relay_up *up, const char *body,
    size_t n)
{
	const bool starts = up->c->relay.start != NULL ||
	    up->c->brought != NULL;

	if (n < 2 || body[0] != '\0')
		return !up->named && !(up->watched && is_watched(body, n)) &&
		    !(starts && may_reset(body, n));
	if (up->watched)
		return sql_seen_is_plain(&up->c->ss->seen, body, n);
	return starts ? !sql_back_may_alone(body + 1, n - 1) : !up->named ||
	    !sql_may_matter_alone(body[1]);
}

enum plain {
	PLAIN_NOT,
	PLAIN,
	PLAIN_CHANGE,	/* the unnamed statement is another one, or none */
	PLAIN_TELLS,	/* the client is told of the unnamed statement */
	PLAIN_END,	/* what is behind is of another batch */
};

static inline enum plain plain_if(bool is_plain)
{
	return is_plain ? PLAIN : PLAIN_NOT;
}

/* Is the Query one whose handling takes no more than to pass it on? */
static inline bool is_plain_query(const struct relay_up *up, const char *body,
    size_t n)
{
	return !sessions_settings(up->c->ss)->disable_pqexec &&
	    (up->watched ? sql_seen_is_plain(&up->c->ss->seen, body, n) :
	    !((up->named || up->c->relay.start != NULL ||
	    up->c->brought != NULL) && sql_may_matter(body, n)) &&
	    !((up->c->relay.start != NULL || up->c->brought != NULL) &&
	    sql_back_calls(body, n))) &&
	    !track_is_in_batch(&up->s->track);
}

/*
 * Is a whole message, with what it may do to named statements, the server's
 * business alone? What is no request, is not. is_there: what has no name is met
 * with on that server.
 */
static inline enum plain look(const struct relay_up *up, const uint8_t *m,
    size_t size, bool is_there)
{
	const char *const body = (const char *)m + MSG_HEADER;
	const size_t n = size - MSG_HEADER;

	switch (m[0]) {
	case FE_PARSE:
		if (size > OWN_MAX || !is_plain_parse(up, body, n))
			return PLAIN_NOT;
		return up->named || n == 0 || body[0] == '\0' ? PLAIN_CHANGE :
		    PLAIN;
	case FE_BIND:
		return plain_if(is_there && (!up->named || (n > 1 &&
		    body[0] == '\0' && body[1] == '\0')));
	case FE_DESCRIBE:
		if (n == 2 && body[0] != 'P' && is_there && body[1] == '\0')
			return PLAIN_TELLS;
		return plain_if(n == 2 ? body[1] == '\0' && body[0] == 'P' :
		    !up->named && is_there);
	case FE_EXECUTE:
		return PLAIN;
	case FE_SYNC:
		return PLAIN_END;
	case FE_QUERY:
		return is_plain_query(up, body, n) ? PLAIN_CHANGE : PLAIN_NOT;
	default:
		return PLAIN_NOT;
	}
}

/* Is there something that handles each message, or waits for one? */
static bool is_handled(struct relay_up *up)
{
	const struct client *const c = up->c;

	/* whatever passes, and however */
	if (up->s->trace.waits && relay_watch_waits(up))
		return true;
	/* an UNLISTEN behind the batch at hand has to wait */
	return relay_execute_holds(&c->relay) ||
	    relay_reset_looks(c) || up->s->trace.lasting ||
	    up->s->trace.binds ||
	    (c->listening != NULL && up->s->trace.listens) ||
	    up->s->keep.flight != NULL || up->s->ps.mode == POOL_STATEMENT;
}

/* A change of what is none, and is known to be none, is no change. */
static inline bool is_change(const struct relay_up *up, uint8_t type,
    const struct own_run *run)
{
	return type == FE_PARSE || run->count > 0 ||
	    (up->s->unnamed | up->c->relay.own.serial) != OWN_NONE;
}

static inline void end_run(struct relay_up *up, struct own_run *run)
{
	if (run->count > 0)
		relay_own_note_run(up->c, up->s, run);
	run->count = 0;
}

size_t relay_run_up(struct relay_up *up)
{
	struct track *const t = &up->s->track;
	struct own_run run = { .count = 0 };
	size_t n = 0;

	if (up->learns.of != NULL) {
		if (up->m[0] == FE_DESCRIBE)
			return 0;
		up->learns.of = NULL;
	}
	if (is_handled(up))
		return 0;
	if (up->caches)
		return relay_unnamed_run(up);
	for (unsigned room = track_room(t); room > 0 &&
	    up->have - n >= MSG_HEADER; room--) {
		const uint8_t *const m = up->m + n;
		const size_t size = msg_size(m, up->max);

		if (size == 0 || size > up->have - n)
			break;
		const enum plain kind = look(up, m, size, run.count > 0 ||
		    relay_own_is_there(up->c, up->s));

		if (kind == PLAIN_NOT)
			break;
		const bool change = kind == PLAIN_CHANGE &&
		    is_change(up, m[0], &run);

		if (change)
			own_run_add(&run, m, size, t->count);
		track_add_marked(t, (char)m[0], change ? OWN_CHANGE :
		    kind == PLAIN_TELLS ? OWN_TOLD : OWN_NOTHING);
		n += size;
		if (kind == PLAIN_END)
			end_run(up, &run);
	}
	end_run(up, &run);
	return n;
}

/* --- from server to client --- */

void relay_note_end(struct client *c, char status)
{
	struct counters *n = &c->pc.pool->counted.now;
	const usec_t now = time_precise(), started = c->query_start;
	const bool xact = status == 'I' && c->xact_start != 0;

	if (started != 0) {
		const usec_t took = now - started;

		PROBE(query__end, c->id, c->db->name, took);
		n->query_time += (uint64_t)took;
		latencies_note_end(c->pc.pool, xact && c->xact_start == started ?
		    RECENT_ALONE : RECENT_QUERY, took);
		if (sessions_settings(c->ss)->log_min_duration > 0)
			slow_log(c, took);
	}
	c->query_start = 0;
	if (!xact)
		return;
	n->xact_time += (uint64_t)(now - c->xact_start);
	if (c->xact_start != started)
		latencies_note_end(c->pc.pool, RECENT_XACT,
		    now - c->xact_start);
	c->xact_start = 0;
}

void relay_note_next(struct client *c, char status)
{
	struct counters *const n = &c->pc.pool->counted.now;

	n->query_count++;
	n->xact_count += status == 'I';
}

/* ReadyForQuery that ends what is owed, or its part, in the usual way. */
static inline bool take_ready(struct relay_down *d, const uint8_t *m,
    size_t size)
{
	struct track *t = &d->s->track;

	if (size != MSG_HEADER + 1)
		return false;
	const char status = (char)m[MSG_HEADER];

	if (status != 'I' && (track_head_tag(t) != 0 ||
	    d->s->ps.mode == POOL_STATEMENT))
		return false;
	if (!track_take_ready(t, status))
		return false;
	if (track_is_empty(t))
		relay_note_end(d->c, status);
	else
		relay_note_next(d->c, status);
	return true;
}

static inline bool is_row(const uint8_t *m)
{
	return m != NULL && (*m == BE_DATA_ROW || *m == BE_ROW_DESCRIPTION);
}

/* A CommandComplete, behind that message. False: its tag may tell more. */
static inline bool take_tag(struct relay_down *d, const uint8_t *m, size_t size,
    const uint8_t *behind)
{
	if (trace_is_select(m, size))
		return is_row(behind) &&
		    track_take(&d->s->track, BE_COMMAND_COMPLETE);
	const enum trace_hint hint = trace_look(m, size);

	if (hint == TRACE_TELLS || !track_take(&d->s->track, m[0]))
		return false;
	if (hint == TRACE_DRAWS && relay_watches(d->s->ps.pool))
		d->s->trace.drawn = true;
	return true;
}

size_t relay_run_down(struct relay_down *d)
{
	struct track *t = &d->s->track;
	const uint8_t *last = NULL;
	size_t n = 0;

	if (d->c == NULL || d->c->relay.resetting != RESET_NONE ||
	    d->s->keep.pins != 0 || d->c->listening != NULL ||
	    !track_is_plain(t) || d->s->schema_open != SCHEMA_SAME ||
	    (d->s->dialect.trails && !d->s->dialect.astray))
		return 0;
	while (d->have - n >= MSG_HEADER) {
		const uint8_t *m = d->m + n;
		const size_t size = msg_size(m, d->max);

		if (size == 0 || size > d->have - n)
			break;
		if (m[0] == BE_DATA_ROW) {
			if (!track_take(t, BE_DATA_ROW))
				break;
			n += msg_run(m, d->have - n, d->max);
			last = m;
			continue;
		}
		if (trace_may_tell(m[0]) ? !take_tag(d, m, size, last) :
		    m[0] == BE_READY_FOR_QUERY ? !take_ready(d, m, size) :
		    !track_take(t, m[0]))
			break;
		n += size;
		last = m;
	}
	if (is_row(last))
		d->rows_end = d->m + n;
	return n;
}
