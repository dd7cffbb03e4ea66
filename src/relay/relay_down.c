/* relay_down.c - the hot path, from server to client.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/timeouts.h"
#include "broker/broker.h"
#include "broker/vacate.h"
#include "notify/listener.h"
#include "pool/tally.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "relay/own_queries.h"
#include "relay/relay_columns.h"
#include "relay/relay_flight.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"
#include "relay/relay_repeat.h"
#include "relay/relay_reset.h"
#include "relay/relay_schema.h"
#include "relay/relay_watch.h"
#include "session/carry.h"
#include "session/sessions.h"
#include "state/trace.h"

/* Forward (or, without a client, drop) what is here of the message. */
static void pass(struct relay_down *d, bool forward)
{
	const size_t n = d->have < d->size ? d->have : d->size;

	forward = forward && d->c != NULL;
	if (forward)
		outbox_pass(&d->out, d->m, n);
	d->s->rest.bytes = (uint32_t)(d->size - n);
	d->s->rest.dropped = !forward;
	d->used = n;
}

/* Does the error end the session? Then its code and text are what counts. */
static bool is_fatal(const struct relay_down *d, struct report *r)
{
	return report_parse(r, d->m + MSG_HEADER, d->size - MSG_HEADER) == 0 &&
	    (strcmp(r->severity, "FATAL") == 0 ||
	    strcmp(r->severity, "PANIC") == 0);
}

/* No client is told why: the log is, if that is such an error. */
static void close_idle(const struct relay_down *d, enum close_reason reason)
{
	struct close_cause why = close_cause(reason);
	struct report r;
	char text[256];

	if (d->have >= MSG_HEADER && d->m[0] == BE_ERROR_RESPONSE &&
	    d->size >= MSG_HEADER && d->size <= d->have && is_fatal(d, &r)) {
		snprintf(text, sizeof text, "%s (%s: %s)", why.text,
		    r.severity, r.message);
		why.text = text;
	}
	server_close_cause(d->s, why);
}

static enum relay_step relay_down_fail(struct relay_down *d,
    enum close_reason why)
{
	if (d->c == NULL) {
		close_idle(d, why);
		return RELAY_STOP;
	}
	/* what came before belongs to the client */
	outbox_flush(&d->out);
	server_close(d->s, why);
	return RELAY_STOP;
}

/* A reply that is none to what comes next in turn. */
static enum relay_step fail_confused(struct relay_down *d)
{
	return relay_down_fail(d, d->s->track.asks > 0 ? CLOSE_ANSWER_LOST :
	    CLOSE_UNKNOWN_PKT);
}

static enum relay_step relay_down_fail_memory(struct relay_down *d)
{
	if (d->c != NULL)
		outbox_flush(&d->out);
	server_fail(d->s, CLOSE_OUT_OF_MEMORY);
	return RELAY_STOP;
}

/* Replies that we owe in place of the server. */
static void send_fakes(struct relay_down *d)
{
	char type;

	while (d->s->rest.bytes == 0 && track_has_fake(&d->s->track) &&
	    (type = track_fake(&d->s->track)) != 0)
		if (d->c != NULL)
			relay_send_fake(&d->out, type);
}

/* --- one handler a kind of message --- */

/* A row of the answer to a query of ours that is read. */
static enum relay_step on_our_row(struct relay_down *d)
{
	const struct own_query_row *const row = own_query_row(d->s);

	if (d->size > RELAY_SMALL_MAX)
		return relay_down_fail(d, row->failure);
	if (d->have < d->size)
		return RELAY_SHORT;
	row->row(d->s, d->m + MSG_HEADER, d->size - MSG_HEADER);
	pass(d, false);
	return RELAY_NEXT;
}

/* DataRow, CopyData and others that end no request: the bulk of results. */
static enum relay_step on_data(struct relay_down *d)
{
	if (track_is_empty(&d->s->track) &&
	    d->m[0] != BE_NOTIFICATION_RESPONSE)
		return relay_down_fail(d, CLOSE_UNKNOWN_PKT);
	if (d->s->own_query != OWN_QUERY_NONE && d->m[0] == BE_DATA_ROW &&
	    own_query_row(d->s)->row != NULL)
		return on_our_row(d);
	if (d->size <= d->have)
		d->size = msg_run(d->m, d->have, d->max);
	/* what a client listens to is told while we ask for it, too */
	pass(d, d->s->own_query == OWN_QUERY_NONE || (d->c != NULL &&
	    d->m[0] == BE_NOTIFICATION_RESPONSE));
	return RELAY_NEXT;
}

/* Whom it is for, is known where a client may have it from elsewhere, too. */
static enum relay_step on_notification(struct relay_down *d)
{
	struct server *const s = d->s;

	if (!keep_is_on(s->ps.pool) && s->ps.state != SERVER_LISTENING &&
	    !s->keep.marks && (d->c == NULL || d->c->listening == NULL))
		return on_data(d);
	if (d->size > RELAY_SMALL_MAX)
		return relay_down_fail(d, CLOSE_BAD_PKT_HEADER);
	if (d->have < d->size)
		return RELAY_SHORT;
	if (s->ps.state == SERVER_LISTENING)
		listener_take(s, d->m, d->size);
	pass(d, d->c != NULL && listener_passes(d->c, d->m, d->size));
	return RELAY_NEXT;
}

static enum relay_step on_reply(struct relay_down *d)
{
	switch (track_reply(&d->s->track, (char)d->m[0], 0)) {
	case TRACK_PASS:
		pass(d, true);
		break;
	case TRACK_SWALLOW:
	case TRACK_FAILED:
		pass(d, false);
		break;
	case TRACK_CONFUSED:
		return fail_confused(d);
	}
	send_fakes(d);
	return RELAY_NEXT;
}

/*
 * Of a statement that returns other columns PostgreSQL tells the parameters
 * before it fails: that is told with what follows, or not at all.
 */
static enum relay_step on_parameters(struct relay_down *d)
{
	struct relay_down next;	/* its buffers are not worth zeroing */

	if (!relay_columns_note(d) || !relay_own_note_params(d))
		return RELAY_SHORT;
	if (d->c == NULL || d->s->asked.len == 0)
		return on_reply(d);
	if (d->have < d->size + MSG_HEADER)
		return RELAY_SHORT;
	next.s = d->s;
	next.c = d->c;
	next.m = d->m + d->size;
	next.have = d->have - d->size;
	next.size = msg_size(next.m, d->max);
	if (next.m[0] != BE_ERROR_RESPONSE || next.size == 0 ||
	    next.size > RELAY_SMALL_MAX)
		return on_reply(d);
	if (next.have < next.size)
		return RELAY_SHORT;
	if (!relay_repeat(&next))
		return on_reply(d);
	d->used = d->size + next.size;
	return RELAY_NEXT;
}

/* RowDescription, NoData. */
static enum relay_step on_columns(struct relay_down *d)
{
	return relay_columns_note(d) && relay_own_note_columns(d) ?
	    on_reply(d) : RELAY_SHORT;
}

/* Is the server at a Parse that its client has sent before, to another one? */
static bool parses_again(const struct track *t)
{
	return !track_is_empty(t) && track_req(t, 0)->type == FE_PARSE &&
	    track_req(t, 0)->how == TRACK_SKIP;
}

/* A notice is for whoever is there; ours nobody needs. */
static enum relay_step relay_down_on_notice(struct relay_down *d)
{
	pass(d, d->s->own_query == OWN_QUERY_NONE &&
	    !parses_again(&d->s->track));
	return RELAY_NEXT;
}

/* What of it is here is enough to have the code. */
static void count_error(const struct relay_down *d)
{
	const size_t size = d->have < d->size ? d->have : d->size;
	struct report r;

	(void)report_parse(&r, d->m + MSG_HEADER, size - MSG_HEADER);
	tally_error(&d->s->ss->tally, TALLY_OF_SERVER, r.code);
}

/* A setting of the client is refused: who is told so, and what of s? */
static enum relay_step on_kept_error(struct relay_down *d)
{
	struct close_cause why = close_cause(CLOSE_INVALID_SERVER_PARAMETER);
	struct report r;

	if (d->s->keep.flight != NULL) {
		pass(d, false);
		return relay_flight_failed(d->s) ? RELAY_NEXT : RELAY_STOP;
	}
	if (d->size > RELAY_SMALL_MAX || report_parse(&r, d->m + MSG_HEADER,
	    d->size - MSG_HEADER) < 0)
		return relay_down_fail(d, CLOSE_INVALID_SERVER_PARAMETER);
	why.text = r.message;
	why.code = r.code;
	if (!broker_sets_refused(d->s, why))
		return RELAY_STOP;
	d->c = NULL;
	return on_reply(d);
}

/* After a query of ours that failed, nobody knows what the session has. */
static enum relay_step fail_own_query(struct relay_down *d)
{
	char text[192] = "an error that is too long to be read";
	struct report r;

	if (d->have >= d->size && report_parse(&r, d->m + MSG_HEADER,
	    d->size - MSG_HEADER) == 0)
		snprintf(text, sizeof text, "%s: %s", r.severity, r.message);
	if (d->c != NULL)
		outbox_flush(&d->out);
	own_query_failed(d->s, text);
	return RELAY_STOP;
}

/* Somebody's cancel or time-out may have hit the probe: that is sent again. */
static enum relay_step on_probe_error(struct relay_down *d)
{
	struct report r;

	if (d->size > RELAY_SMALL_MAX)
		return fail_own_query(d);
	(void)report_parse(&r, d->m + MSG_HEADER, d->size - MSG_HEADER);
	return keep_asks_again(d->s, r.code) ? on_reply(d) : fail_own_query(d);
}

/* The end of the server is its client's affair, a failure of our query is not. */
static enum relay_step on_own_query_error(struct relay_down *d)
{
	struct report r;
	const struct own_query_row *const row = own_query_row(d->s);

	if (d->have < d->size && d->size <= RELAY_SMALL_MAX)
		return RELAY_SHORT;
	if (d->have >= d->size && is_fatal(d, &r)) {
		count_error(d);
		pass(d, true);
		d->s->fatal_passed = true;
		return relay_down_fail(d, CLOSE_SERVER_CRASHED);
	}
	if (row->error == OWN_ERROR_REPEATS)
		return on_probe_error(d);
	if (row->error == OWN_ERROR_CLOSES || d->c == NULL)
		return fail_own_query(d);
	/* its client is told, who has asked for the value */
	return keep_sets(d->s->ps.pool) ? on_kept_error(d) :
	    relay_down_fail(d, row->failure);
}

static enum relay_step on_suspended(struct relay_down *d)
{
	relay_watch_untold(d);
	return on_reply(d);
}

static enum relay_step relay_down_on_error(struct relay_down *d)
{
	if (d->s->own_query != OWN_QUERY_NONE)
		return on_own_query_error(d);
	relay_reset_failed(d);
	relay_watch_untold(d);
	if (d->c != NULL)
		vacate_end(d->c);
	d->s->trace.failed = true;
	d->s->trace.waits = false;
	/* no error that means something here is that long: it passes as it comes */
	if (d->c == NULL)
		return on_reply(d);
	if (d->have < d->size && d->size <= RELAY_SMALL_MAX)
		return RELAY_SHORT;
	relay_own_failed(d->c, d->s);
	/* the statement that stood in for a name may still be there */
	if (d->c->relay.dealloc.early && d->c->relay.dealloc.portal != NULL)
		d->s->ps.close_needed = true;
	if (d->size > RELAY_SMALL_MAX) {
		count_error(d);
		return on_reply(d);
	}
	const bool named = relay_translates(d->c);
	struct report r;

	d->used = d->size;
	if (named && relay_repeat(d))
		return RELAY_NEXT;
	count_error(d);
	relay_note_error(d);
	d->s->fatal_passed = d->s->fatal_passed || is_fatal(d, &r);
	if (!(named || d->s->track.op_count > 0) || !relay_reword_error(d))
		return on_reply(d);
	(void)track_reply(&d->s->track, BE_ERROR_RESPONSE, 0);
	send_fakes(d);
	return RELAY_NEXT;
}

/* The unnamed statement stays. 0, or -1: no memory. */
static int clear_names(struct slots **map)
{
	const struct prepared_name *const n = prepared_name_find(*map, "");
	struct prepared *const stmt = n == NULL ? NULL : prepared_ref(n->stmt);
	int rc = 0;

	prepared_name_clear(map);
	if (stmt != NULL)
		rc = prepared_name_add(map, "", stmt);
	prepared_unref(stmt);
	return rc;
}

/*
 * All statements are gone, but for those of requests that were sent behind
 * the one that did it. 0, or -1: no memory.
 */
static int forget_statements(struct relay_down *d)
{
	struct server *s = d->s;
	struct slots **map = d->c == NULL ? NULL : &d->c->statements;

	prepared_uses_clear(&s->prepared);
	if (map != NULL && clear_names(map) < 0)
		return -1;
	for (unsigned i = 0; i < s->track.count; i++) {
		const struct prepared_op *op = track_op(&s->track, i);

		if (op != NULL && prepared_op_redo(op, map, &s->prepared) < 0)
			return -1;
	}
	return 0;
}

static bool relay_down_has_tag(const struct relay_down *d, const char *tag)
{
	const size_t n = strlen(tag) + 1;

	return d->size == MSG_HEADER + n &&
	    memcmp(d->m + MSG_HEADER, tag, n) == 0;
}

static enum relay_step relay_down_on_complete(struct relay_down *d)
{
	static const char *const tags[] = { "DEALLOCATE ALL", "DISCARD ALL" };

	if (d->size > RELAY_SMALL_MAX)
		return relay_down_fail(d, CLOSE_BAD_PKT_HEADER);
	if (d->have < d->size)
		return RELAY_SHORT;
	if (relay_reset_silent(d) < 0)
		return relay_down_fail_memory(d);
	relay_reset_tag(d);
	relay_watch_tag(d);
	const enum trace_hint hint = trace_look(d->m, d->size);
	const bool tells = hint == TRACE_TELLS;

	/* hot: rows came before the tag of most SELECTs */
	if (tells || d->s->schema_open != SCHEMA_SAME ||
	    (hint == TRACE_SELECTS && d->rows_end != d->m))
		relay_schema_tag(d);
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
		if (tells && relay_down_has_tag(d, tags[i]) &&
		    forget_statements(d) < 0)
			return relay_down_fail_memory(d);
	return on_reply(d);
}

static enum relay_step on_result(struct relay_down *d)
{
	relay_reset_called(d);
	return on_reply(d);
}

static bool is_of_idle(const struct relay_down *d)
{
	return d->c == NULL && d->s->own_query == OWN_QUERY_NONE &&
	    d->s->ps.state != SERVER_LISTENING;
}

/* The client of s reads it itself. 0, or -1: no memory. */
static int renew_welcome(struct relay_down *d, const char *name,
    const char *value)
{
	struct pool *const p = d->s->ps.pool;
	const bool behind = d->c != NULL && client_is_behind(d->c);

	if (d->s->ps.close_needed || d->s->ps.dedicated)
		return 0;
	const int rc = pool_renew_welcome(p, name, value);

	if (d->c != NULL && !behind && d->s->own_query == OWN_QUERY_NONE)
		d->c->told = p->told;
	return rc;
}

static enum relay_step relay_down_on_parameter(struct relay_down *d)
{
	struct reader r;

	if (d->size > RELAY_SMALL_MAX)
		return relay_down_fail(d, CLOSE_BROKEN_PARAMETER_STATUS);
	if (d->have < d->size)
		return RELAY_SHORT;
	reader_init(&r, d->m + MSG_HEADER, d->size - MSG_HEADER);
	const char *name = reader_str(&r), *value = reader_str(&r);

	if (r.failed)
		return relay_down_fail(d, CLOSE_BROKEN_PARAMETER_STATUS);
	const int i = params_find(d->s->ss->params, name);

	if (i < 0 && renew_welcome(d, name, value) < 0)
		return relay_down_fail_memory(d);
	/* not at the wish of a client: it is another one by default now */
	if (is_of_idle(d) && !welcome_is_fixed(name)) {
		pool_drop_welcome(d->s->ps.pool);
		return relay_down_fail(d, CLOSE_IDLE_SERVER_GOT_DIRTY);
	}
	if (strcmp(name, "in_hot_standby") == 0)
		broker_host_changed(d->s, strcmp(value, "on") == 0);
	if (i >= 0 && params_set(&d->s->params, i, value) < 0)
		return relay_down_fail_memory(d);
	if (i >= 0)
		d->s->origin.silent &= ~((uint64_t)1 << i);
	if (i >= 0)
		dialect_note_report(d->s, i);
	if (d->c == NULL || d->s->own_query != OWN_QUERY_NONE)
		return relay_down_on_notice(d);
	const bool hidden = i >= 0 && relay_reset_hides(d, i);

	if (i >= 0 && !hidden && params_set(&d->c->params, i, value) < 0)
		return relay_down_fail_memory(d);
	pass(d, !hidden);
	return RELAY_NEXT;
}

static enum relay_step relay_down_on_ready(struct relay_down *d)
{
	struct server *s = d->s;

	if (d->size != MSG_HEADER + 1)
		return relay_down_fail(d, CLOSE_BAD_PKT_HEADER);
	if (d->have < d->size)
		return RELAY_SHORT;
	const char status = (char)d->m[MSG_HEADER];

	/* what comes after it in the batch ends wrongly */
	if (status != 'I' && track_head_tag(&s->track) != 0)
		s->ps.close_needed = true;
	/* behind SETs (flight.h): who hears this may leave, and s is to be free */
	if (s->own_query == OWN_QUERY_NONE)
		track_tell_later(&s->track);
	const enum track_verdict v = track_reply(&s->track,
	    BE_READY_FOR_QUERY, status);

	if (v == TRACK_CONFUSED)
		return fail_confused(d);
	if (s->schema_open != SCHEMA_SAME)
		relay_schema_in_force(s);
	if (status == 'I')
		s->schema_open = SCHEMA_SAME;
	const bool answered = track_is_answered(&s->track);

	/* the first one counts: what is behind it in the pipeline may end it */
	if (d->c != NULL && s->own_query == OWN_QUERY_NONE && status != 'I' &&
	    s->ps.mode == POOL_STATEMENT &&
	    d->c->replication == REPLICATION_NONE)
		return relay_down_fail(d, CLOSE_NO_TRANSACTION_BLOCKS);
	if (d->c != NULL && s->own_query == OWN_QUERY_NONE &&
	    d->c->relay.resetting != RESET_NONE &&
	    relay_reset_end(d, answered) < 0)
		return relay_down_fail_memory(d);
	const bool withheld = v == TRACK_PASS && answered && status == 'I' &&
	    d->c != NULL && d->c->listening != NULL &&
	    listener_withholds(d->c, s);

	if (withheld)
		d->c->relay.withheld = WITHHELD;
	if (v == TRACK_PASS && !answered && d->c != NULL &&
	    s->own_query == OWN_QUERY_NONE)
		relay_note_next(d->c, status);
	pass(d, v == TRACK_PASS && !withheld);
	send_fakes(d);
	if (d->c != NULL && s->own_query == OWN_QUERY_NONE && answered &&
	    !withheld &&
	    !d->c->relay.repeats)
		relay_note_end(d->c, status);
	return RELAY_NEXT;
}

/* What a backend message does once login is over; the rest is unknown. */
static enum relay_step (*const handlers[256])(struct relay_down *d) = {
	[BE_DATA_ROW] = on_data,
	[BE_COPY_DATA] = on_data,
	[BE_NOTIFICATION_RESPONSE] = on_notification,
	[BE_PARAMETER_DESCRIPTION] = on_parameters,
	[BE_FUNCTION_CALL_RESPONSE] = on_result,
	[BE_COPY_DONE] = on_reply,
	[BE_COPY_OUT_RESPONSE] = on_reply,
	[BE_COPY_IN_RESPONSE] = on_reply,
	[BE_COPY_BOTH_RESPONSE] = on_reply,
	[BE_PARSE_COMPLETE] = on_reply,
	[BE_BIND_COMPLETE] = on_reply,
	[BE_CLOSE_COMPLETE] = on_reply,
	[BE_ROW_DESCRIPTION] = on_columns,
	[BE_NO_DATA] = on_columns,
	[BE_EMPTY_QUERY_RESPONSE] = on_reply,
	[BE_PORTAL_SUSPENDED] = on_suspended,
	[BE_COMMAND_COMPLETE] = relay_down_on_complete,
	[BE_PARAMETER_STATUS] = relay_down_on_parameter,
	[BE_NOTICE_RESPONSE] = relay_down_on_notice,
	[BE_ERROR_RESPONSE] = relay_down_on_error,
	[BE_READY_FOR_QUERY] = relay_down_on_ready,
};

/* --- the walk over a burst --- */

static void relay_down_pass_rest(struct relay_down *d)
{
	struct server *s = d->s;
	const size_t n = d->have < s->rest.bytes ? d->have : s->rest.bytes;

	if (!s->rest.dropped)
		outbox_pass(&d->out, d->m, n);
	s->rest.bytes -= (uint32_t)n;
	d->used = n;
	d->rows_end = d->m + n;	/* no other is long, of those that count */
	send_fakes(d);
}

/* May it come without a request? It makes a server dirty, if it is to be lent. */
static bool is_unasked(const struct relay_down *d)
{
	return d->m[0] == BE_NOTIFICATION_RESPONSE ||
	    d->m[0] == BE_PARAMETER_STATUS ||
	    (d->s->ps.state == SERVER_LISTENING &&
	    d->m[0] == BE_NOTICE_RESPONSE);
}

/* What answers SETs of ours comes this way, as no run has it. */
static enum relay_step handle(struct relay_down *d)
{
	struct server *const s = d->s;
	const uint8_t kind = d->m[0];	/* of what s may have freed then */
	const enum relay_step step = handlers[kind](d);

	if (kind == BE_DATA_ROW || kind == BE_ROW_DESCRIPTION)
		d->rows_end = d->m + d->used;

	if (s->keep.flight == NULL || step != RELAY_NEXT || !server_is_open(s))
		return step;
	return relay_flight_look(d->c, s) ? RELAY_NEXT : RELAY_STOP;
}

static enum relay_step relay_down_next_message(struct relay_down *d)
{
	if (d->s->rest.bytes > 0) {
		relay_down_pass_rest(d);
		return RELAY_NEXT;
	}
	if (d->have < MSG_HEADER)
		return RELAY_SHORT;
	d->used = relay_run_down(d);
	if (d->used > 0) {
		outbox_pass(&d->out, d->m, d->used);
		return RELAY_NEXT;
	}
	d->size = msg_size(d->m, d->max);
	if (d->size == 0)
		return relay_down_fail(d, CLOSE_BAD_PKT_HEADER);
	if (handlers[d->m[0]] == NULL)
		return relay_down_fail(d, CLOSE_UNKNOWN_PKT);
	if (d->c == NULL && d->s->own_query == OWN_QUERY_NONE && !is_unasked(d))
		return relay_down_fail(d, CLOSE_IDLE_SERVER_GOT_DIRTY);
	if (d->s->track.uncertain)
		track_settle(&d->s->track, (char)d->m[0]);
	return handle(d);
}

/* What a server without a client says, or in answer to ours, is one piece. */
static inline bool relay_down_is_late(struct relay_down *d, size_t *work)
{
	if (!loop_ends_piece(work, d->used) || d->c == NULL ||
	    d->s->own_query != OWN_QUERY_NONE || d->s->keep.flight != NULL)
		return false;
	d->late = loop_is_long(d->s->stream.loop);
	return d->late;
}

bool relay_down_burst(struct relay_down *d, const struct burst *b)
{
	struct server *s = d->s;
	size_t used = 0, work = 0;

	d->rows_end = s->in_rows ? b->at : NULL;
	d->late = false;
	outbox_init(&d->out, d->c == NULL ? NULL : &d->c->stream);
	do {
		d->m = b->at + used;
		d->have = b->len - used;
		const enum relay_step step = relay_down_next_message(d);

		if (!server_is_open(s))
			return false;
		if (step != RELAY_NEXT)
			break;
		used += d->used;
	} while (used < b->len && !relay_down_is_late(d, &work));
	s->in_rows = d->rows_end == b->at + used;
	s->ps.pool->counted.now.sent += used;
	if (d->c != NULL)
		outbox_flush(&d->out);
	else	/* the pool may sleep, but this is to be counted */
		wheel_wake(&s->ps.pool->wheel);
	if (carry_rest(&s->carry, b, used) == 0)
		return true;
	server_fail(s, CLOSE_OUT_OF_MEMORY);
	return false;
}

ssize_t relay_read_up(struct client *c, struct server *s, struct burst *b,
    size_t max)
{
	if (s == NULL || c->rest.dropped || c->carry.len > 0 ||
	    c->relay.text != NULL ||
	    (c->relay.hold && c->rest.bytes < SPLICE_MIN) ||
	    s->own_query != OWN_QUERY_NONE || track_is_empty(&s->track) ||
	    !splice_can(&c->stream, &s->stream))
		return carry_read(&c->carry, &c->stream, b, max);
	struct bulk k = { .from = &c->stream, .to = &s->stream,
	    .skip = &c->rest.bytes, .kinds = { FE_COPY_DATA, FE_COPY_DATA },
	    .max = (uint32_t)(max - MSG_HEADER) };

	return bulk_move(&k, b);
}

ssize_t relay_read_down(struct server *s, struct client *c, struct burst *b,
    size_t max)
{
	if (c == NULL || s->rest.dropped || s->carry.len > 0 ||
	    s->own_query != OWN_QUERY_NONE || track_is_empty(&s->track) ||
	    track_has_fake(&s->track) || !splice_can(&s->stream, &c->stream))
		return carry_read(&s->carry, &s->stream, b, max);
	struct bulk k = { .from = &s->stream, .to = &c->stream,
	    .skip = &s->rest.bytes, .kinds = { BE_DATA_ROW, BE_COPY_DATA },
	    .max = (uint32_t)(max - MSG_HEADER) };

	return bulk_move(&k, b);
}

/*
 * Behind a COPY that failed: whether it has read the Syncs that came before the
 * end of its data, the server alone knows. A request of ours behind them, whose
 * reply nothing else can be, says that there will be no more ReadyForQuery.
 * Close of what does not exist always succeeds and changes nothing; an empty
 * query would drop the client's unnamed statement.
 */

static const struct {
	uint8_t close[MSG_HEADER + 1];
	char name[sizeof PREPARED_NAME_TRIED];
	uint8_t sync[MSG_HEADER];
} probe = {
	.close = { FE_CLOSE, 0, 0, 0, 4 + 1 + sizeof PREPARED_NAME_TRIED, 'S' },
	.name = PREPARED_NAME_TRIED,
	.sync = { FE_SYNC, 0, 0, 0, 4 },
};

bool relay_probe(struct client *c)
{
	struct server *s = server_of(c->pc.server);
	struct track *t = &s->track;

	if (t->lost) {
		server_close(s, CLOSE_COPY_UNCERTAIN);
		return false;
	}
	/* amid a message of the client nothing can be said; no pool waits */
	if (rest_passes(&c->rest) || track_is_full(t) ||
	    c->replication != REPLICATION_NONE || !track_wants_probe(t))
		return true;
	if (track_add(t, FE_CLOSE, TRACK_SKIP, NULL) < 0 ||
	    track_add(t, FE_SYNC, TRACK_SKIP, NULL) < 0) {
		server_fail(s, CLOSE_OUT_OF_MEMORY);
		return false;
	}
	(void)stream_write_bytes(&s->stream, &probe, sizeof probe);
	return true;
}

/* Returns false when c is closed. */
static bool relay_down_tell(struct client *c)
{
	static const uint8_t ready[] = { BE_READY_FOR_QUERY, 0, 0, 0, 5, 'I' };

	c->relay.withheld = WITHHELD_NOT;
	relay_note_end(c, 'I');
	if (stream_write_bytes(&c->stream, ready, sizeof ready) ==
	    STREAM_BROKEN)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	return client_is_open(c);
}

bool relay_knows_end(struct client *c)
{
	if (c->relay.withheld == WITHHELD_NOT)
		return true;
	c->relay.withheld = WITHHELD_TO_SETTLE;
	return !listener_is_unsettled(c) && relay_down_tell(c);
}
