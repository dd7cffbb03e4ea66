/* relay_run.c - the hottest path: runs of messages that need no handler.
 *
 * All that most transactions are made of. A run is noted in one go, and passes
 * as one piece.
 * SPDX-License-Identifier: ISC */
#include "base/probe.h"
#include "pool/latencies.h"
#include "pool/tally.h"
#include "proto/msg.h"
#include "proto/sql_back.h"
#include "proto/track.h"
#include "proto/track_run.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"
#include "relay/relay_reset.h"
#include "relay/relay_schema.h"
#include "relay/relay_unnamed.h"
#include "relay/relay_watch.h"
#include "session/sessions.h"
#include "session/slow.h"
#include "sql/sql.h"
#include "sql/sql_seen.h"
#include "state/trace.h"

/* --- from client to server --- */

/* Has the client start-up values that a RESET may give back? */
static inline bool has_own_values(const struct relay_up *up)
{
	return up->c->relay.start != NULL || up->c->brought != NULL;
}

/* Does it matter what a text may set, or leave? */
static inline bool reads(const struct relay_up *up)
{
	return up->watched || has_own_values(up);
}

/* Out of the hot path: the Parse has a name, or no text. */
static __attribute__((noinline)) bool is_plain_named(const struct relay_up *up,
    const char *body, size_t n)
{
	const size_t name = strnlen(body, n);

	return !up->named && (!reads(up) || (name < n && sql_seen_is_plain(
	    &up->c->ss->seen, body + name + 1, n - name - 1)));
}

/* As look(), of a Parse. What sql_seen.h knows does not matter either. */
static inline bool is_plain_parse(const struct relay_up *up, const char *body,
    size_t n)
{
	if (n < 2 || body[0] != '\0')
		return is_plain_named(up, body, n);
	if (reads(up))
		return sql_seen_is_plain(&up->c->ss->seen, body + 1, n - 1);
	return !up->named || !sql_may_matter_alone(body[1]);
}

enum plain {
	PLAIN_NOT,
	PLAIN,
	PLAIN_CHANGE,	/* the unnamed statement is another one */
	PLAIN_TELLS,	/* the client is told of the unnamed statement */
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
	    (reads(up) ? sql_seen_is_plain(&up->c->ss->seen, body, n) :
	    !(up->named && sql_may_matter(body, n))) &&
	    !track_is_in_batch(&up->s->track);
}

/*
 * Is a whole message of a batch, with what it may do to named statements, the
 * server's business alone? What is no request, is not. is_there: what has no name
 * is met with on that server.
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
	default:
		return PLAIN_NOT;
	}
}

/*
 * Is there something that handles each message, or waits for one? Few branches: most
 * often all of it is nothing.
 */
static inline bool is_handled(struct relay_up *up)
{
	const struct relay_state *const r = &up->c->relay;
	const struct trace *const t = &up->s->trace;

	/* whatever passes, and however */
	if (t->waits && relay_watch_waits(up))
		return true;
	return (t->lasting | t->binds | r->execute_holds) ||
	    r->resetting != RESET_NONE || r->texts != NULL ||
	    r->dealloc.name != NULL ||
	    /* an UNLISTEN behind the batch at hand has to wait */
	    (t->listens && up->c->listening != NULL) ||
	    up->s->keep.flight != NULL || up->s->ps.mode == POOL_STATEMENT;
}

/*
 * Hot: from m on, all of a batch that is plain is noted, its Sync included. Returns
 * what is behind it. Out of line, for its own set of registers.
 */
static __attribute__((noinline)) const uint8_t *note_batch(
    struct relay_up *up, const uint8_t *const from)
{
	struct track *const t = &up->s->track;
	const uint8_t *const end = up->m + up->have;
	const uint32_t lengths = msg_lengths(up->max);
	const unsigned limit = t->count + track_room(t);
	const uint8_t *m = from;
	struct track_run owed = track_run_begin(t);
	struct own_run run = { .count = 0 };
	bool is_there = relay_own_is_there(up->c, up->s);

	while (owed.count < limit && end - m >= MSG_HEADER) {
		const size_t size = msg_size_among(m, lengths);

		if (size == 0 || size > (size_t)(end - m))
			break;
		const enum plain kind = look(up, m, size, is_there);

		if (kind == PLAIN_NOT) {
			if (m[0] != FE_SYNC)
				break;
			(void)track_run_add(&owed, FE_SYNC);
			m += size;
			break;
		}
		struct track_req *const req = track_run_add(&owed, (char)m[0]);

		if (kind == PLAIN_CHANGE) {
			req->own = OWN_CHANGE;
			own_run_add(&run, m, owed.count - 1);
			is_there = true;
		} else if (kind == PLAIN_TELLS) {
			req->own = OWN_TOLD;
		}
		m += size;
	}
	if (m > from)
		track_run_end(t, &owed);
	if (run.count > 0)
		relay_own_note_run(up->c, up->s, run);
	return m;
}

/* The Query at hand is noted, if it is plain. Returns its size; 0: it is not. */
static inline size_t note_query(struct relay_up *up)
{
	struct track *const t = &up->s->track;
	const unsigned place = t->count;

	if (up->size > up->have || track_room(t) == 0 ||
	    !is_plain_query(up, (const char *)up->m + MSG_HEADER,
	    up->size - MSG_HEADER))
		return 0;
	track_add_plain(t, FE_QUERY);
	/* a change of what is none, and is known to be none, is no change */
	if ((up->s->unnamed | up->c->relay.own.serial) != OWN_NONE)
		relay_own_note(up, place);
	return up->size;
}

/* Hot: does a Bind or Parse have a name, so that it is none of a run? */
static inline bool has_name(const struct relay_up *up)
{
	const uint8_t *const body = up->m + MSG_HEADER;

	return up->named && up->have > MSG_HEADER + 1 &&
	    (up->m[0] == FE_BIND ? (body[0] | body[1]) != 0 :
	    up->m[0] == FE_PARSE && body[0] != 0);
}

size_t relay_run_up(struct relay_up *up)
{
	if (up->learns.of != NULL) {
		if (up->m[0] == FE_DESCRIBE)
			return 0;
		up->learns.of = NULL;
	}
	if (is_handled(up))
		return 0;
	if (up->caches)
		return relay_unnamed_run(up);
	if (up->m[0] == FE_QUERY)
		return note_query(up);
	if (has_name(up))
		return 0;
	const uint8_t *const end = up->m + up->have;
	const uint8_t *m = up->m, *before;

	do {
		before = m;
		m = note_batch(up, m);
	} while (m > before && m < end);
	return (size_t)(m - up->m);
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

/* Has a message in the place of the tag that of a SELECT, behind a row? */
static inline bool ends_rows(const uint8_t *m, size_t size, const uint8_t *behind)
{
	return trace_is_select(m, size) && is_row(behind);
}

/*
 * Hot: replies from m on that do nothing but answer what is owed, and that is some;
 * all but ReadyForQuery. Returns what is behind them. Out of line, for its own set of
 * registers.
 */
static __attribute__((noinline)) const uint8_t *take_replies(
    struct relay_down *d, const uint8_t *const from)
{
	struct track *const t = &d->s->track;
	const uint8_t *const end = d->m + d->have;
	const uint32_t lengths = msg_lengths(d->max);
	const uint8_t *m = from, *last = NULL;
	struct track_run owed = track_run_begin(t);

	while (owed.count > 0 && end - m >= MSG_HEADER) {
		const struct track_kind *const k = &track_kinds[m[0]];
		const size_t size = msg_size_among(m, lengths);

		if (size == 0 || size > (size_t)(end - m))
			break;
		/* of a SELECT without rows, and of others, the tag may tell more */
		if (k->tagged && !ends_rows(m, size, last))
			break;
		if (!track_run_take(&owed, k))
			break;
		last = m;
		m += m[0] == BE_DATA_ROW ?
		    msg_run(m, (size_t)(end - m), d->max) : size;
	}
	if (last == NULL)
		return m;
	track_run_end(t, &owed);
	if (is_row(last))
		d->rows_end = m;
	return m;
}

/* A CommandComplete. False: its tag may tell more. */
static inline bool take_tag(struct relay_down *d, const uint8_t *m, size_t size)
{
	const enum trace_hint hint = trace_look(m, size);

	if (hint == TRACE_SELECTS || hint == TRACE_TELLS ||
	    !track_take(&d->s->track, m[0]))
		return false;
	if (hint == TRACE_DRAWS && relay_watches(d->s->ps.pool))
		d->s->trace.drawn = true;
	return true;
}

/* One of the others, of which left bytes are here. Returns its size; 0: it is none. */
static inline size_t take_other(struct relay_down *d, const uint8_t *m,
    size_t left)
{
	const size_t size = left < MSG_HEADER ? 0 : msg_size(m, d->max);

	if (size == 0 || size > left)
		return 0;
	if (m[0] == BE_READY_FOR_QUERY)
		return take_ready(d, m, size) ? size : 0;
	return trace_may_tell(m[0]) && take_tag(d, m, size) ? size : 0;
}

size_t relay_run_down(struct relay_down *d)
{
	const uint8_t *const end = d->m + d->have;
	const uint8_t *m = d->m, *before;

	if (d->c == NULL || d->c->relay.resetting != RESET_NONE ||
	    d->s->keep.pins != 0 || d->c->listening != NULL ||
	    !track_is_plain(&d->s->track) ||
	    d->s->schema_open != SCHEMA_SAME ||
	    (d->s->dialect.trails && !d->s->dialect.astray))
		return 0;
	do {
		before = m;
		if (!track_is_empty(&d->s->track))
			m = take_replies(d, m);
		m += take_other(d, m, (size_t)(end - m));
	} while (m > before && m < end);
	return (size_t)(m - d->m);
}
