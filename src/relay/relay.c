/* relay.c - a linked pair at work: read, passed on, resumed, parted.
 *
 * What a burst means is known to relay_up.c and relay_down.c; what follows from
 * it, for both connections, is decided here.
 * SPDX-License-Identifier: ISC */
#include "relay/relay.h"

#include <stdio.h>

#include "broker/broker.h"
#include "login/shed.h"
#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener.h"
#include "proto/track.h"
#include "relay/own_queries.h"
#include "relay/relay_deallocate.h"
#include "relay/relay_flight.h"
#include "relay/relay_parts.h"
#include "relay/relay_reset.h"
#include "relay/relay_watch.h"
#include "session/carry.h"
#include "session/sessions.h"

static struct server *linked_server(const struct client *c)
{
	return c->pc.server == NULL ? NULL : server_of(c->pc.server);
}

static struct client *linked_client(const struct server *s)
{
	return s->ps.client == NULL ? NULL : client_of(s->ps.client);
}

/* --- what may be read, worked on, given back --- */

/*
 * Is a linked client read? Others may pause its stream, only this function
 * resumes it. It is read unless its server takes no more, or what it has not
 * fetched yet could only grow.
 */
static void update(struct client *c)
{
	const struct server *s = linked_server(c);
	const bool stuck = stream_is_blocked(&c->stream) &&
	    (s == NULL || track_is_empty(&s->track));
	const bool full = s != NULL && (stream_is_blocked(&s->stream) ||
	    s->stream.broken ||
	    track_is_full(&s->track) || s->own_query != OWN_QUERY_NONE ||
	    relay_must_hold(c, s));
	const bool waits = c->relay.withheld != WITHHELD_NOT;

	if (stuck || full || waits || c->pc.state != CLIENT_ACTIVE)
		stream_pause(&c->stream);
	else
		stream_resume(&c->stream);
}

/*
 * A client that still sends data of a COPY that has failed does not keep the
 * server: what comes late is dropped, as PostgreSQL would do. (Message Flow,
 * COPY Operations; the reference waits for its end, spec/pooling.md section 15)
 */
static inline bool may_part(const struct client *c, const struct server *s)
{
	return track_is_done(&s->track) && s->own_query == OWN_QUERY_NONE &&
	    s->rest.bytes == 0 && s->carry.len == 0 &&
	    !rest_passes(&c->rest) &&
	    s->ps.mode != POOL_SESSION &&
	    c->replication == REPLICATION_NONE;
}

/*
 * May what c has sent be worked on? Nothing else decides that. Not while all
 * stands still, whatever the server says: both may be the successor's by then.
 * The SETs for c come first; a server that is gone can only be listened to.
 */
static inline bool may_work(const struct client *c)
{
	const struct server *s = linked_server(c);

	return !stream_is_suspended(&c->stream) &&
	    c->relay.withheld == WITHHELD_NOT && (s == NULL ||
	    (s->own_query == OWN_QUERY_NONE && !s->stream.broken));
}

/* What a Bind is to deallocate, the next server is told when it comes to that. */
static void forget_dealloc(struct client *c, struct server *s)
{
	relay_dealloc_clear(&c->relay);
	s->unnamed = OWN_UNKNOWN;
}

/* c loses a pending RESET together with s. */
static inline void part(struct client *c, struct server *s)
{
	relay_reset_over(c);
	if (c->relay.own.state != OWN_SETTLED)
		own_settle(&c->relay.own, &s->unnamed);
	if (c->relay.dealloc.name != NULL)
		forget_dealloc(c, s);
	/* what it may set is noted when it is sent, for one lending */
	if (s->unnamed != OWN_NONE && relay_watches(c->pc.pool))
		s->unnamed = OWN_UNKNOWN;
	broker_release(s);
}

/*
 * Is s asked what c leaves? Who has listened since its pool was one that keeps
 * goes on so.
 */
static inline bool relay_is_asked(const struct client *c,
    const struct server *s)
{
	return keep_is_on(s->ps.pool) || c->listening != NULL;
}

/* Hot: most transactions leave nothing, where nothing was before. */
static inline bool leaves_nothing(const struct server *s)
{
	return trace_is_blank(&s->trace) && s->keep.pins == 0 &&
	    !s->keep.temporary && !s->ps.pool->limits.state_always;
}

/* What c has left in s, or what it was not told of it, is to be looked at. */
static bool lets_go_of_something(struct client *c, struct server *s)
{
	/* what it is asked, or cleaned by, would drop the unnamed statement */
	if (s->trace.waits)
		return false;
	if (c->relay.withheld == WITHHELD_TO_SETTLE && !relay_knows_end(c))
		return false;
	const bool discarded = s->trace.discarded;

	listener_expect(c, s);
	const bool free = !relay_is_asked(c, s) || keep_lets_go(c, s);

	if (discarded && s->own_query == OWN_QUERY_NONE)
		listener_discarded(c);
	if (s->own_query == OWN_QUERY_NONE)
		listener_await(c);
	if (!server_is_open(s) || s->own_query != OWN_QUERY_NONE ||
	    !relay_knows_end(c))
		return false;
	if (!free && s->keep.pins == PIN_LISTEN)
		(void)listener_move(c, s);
	return free;
}

/* May c give s back now, all else being done? Not what it keeps for itself. */
static inline bool lets_go(struct client *c, struct server *s)
{
	if (c->relay.withheld == WITHHELD_NOT) {
		if (!relay_is_asked(c, s))
			return !s->trace.waits;
		if (leaves_nothing(s)) {
			s->keep.settled = true;
			return true;
		}
	}
	return lets_go_of_something(c, s);
}

/* The server is gone; what it has said before is still to be had. */
static void write_failed(struct server *s)
{
	struct client *const c = linked_client(s);

	if (c != NULL)
		update(c);	/* there is no place for what it sends */
	if (c == NULL || !stream_is_blocked(&c->stream))
		stream_resume(&s->stream);
	stream_reread(&s->stream);
	if (!s->stream.paused)
		relay_server_input(s);
	if (server_is_open(s) && !s->stream.paused && !s->stream.ready)
		server_close(s, CLOSE_SERVER_CONNECTION_CLOSED);
}

/* --- from client to server --- */

/* Nothing of b can go yet. Returns false when c was closed. */
static bool keep(struct client *c, const struct burst *b)
{
	if (carry_rest(&c->carry, b, 0) == 0)
		return true;
	client_fail(c, CLOSE_OUT_OF_MEMORY);
	return false;
}

/*
 * Everything of b that can go goes. False: read no more; c may be closed. Always a
 * part of the loop that reads: compilers shun what is large on the stack.
 */
static inline __attribute__((always_inline)) bool work_off(struct client *c, const struct burst *b)
{
	struct relay_up up;	/* its buffers are not worth zeroing */

	if (!may_work(c))
		return keep(c, b);
	up.c = c;
	up.s = linked_server(c);
	up.max = sessions_longest(c->ss, MSG_MAX_UP);
	if (!relay_up_burst(&up, b))
		return false;
	if (up.s != NULL && up.s->track.uncertain && !relay_probe(c))
		return false;
	if (up.out.result == STREAM_BROKEN ||
	    (up.s != NULL && up.s->track.uncertain && up.s->stream.broken)) {
		write_failed(up.s);
		return false;
	}
	update(c);
	/* nothing was asked, or the message that the server is late for ended */
	if (up.s != NULL && may_part(c, up.s) && lets_go(c, up.s)) {
		part(c, up.s);
		stream_reread(&c->stream);
	}
	if (!client_is_open(c) || !up.late)
		return client_is_open(c);
	stream_put_off(&c->stream);
	return false;
}

/* Bytes went to the server unseen. */
static void follow_up_move(struct client *c, ssize_t n)
{
	struct server *s = server_of(c->pc.server);

	c->pc.pool->counted.now.received += (uint64_t)n;
	if (s->track.uncertain && !relay_probe(c))
		return;
	if (s->stream.broken)
		write_failed(s);
	else
		update(c);
}

/* Bytes came. */
static void note_arrival(struct client *c)
{
	c->request_time = time_now();
	if (timeout_running(&c->timer))
		timeout_start(c->timer.list, &c->timer, c->request_time);
}

/*
 * Has a connection that was read so often had its share of the turn? The clock
 * is not worth a look before it is known that much comes.
 */
static inline bool has_had_share(const struct stream *s, int reads, int rounds)
{
	return reads > 0 && ((rounds > 0 && reads == rounds) ||
	    (reads > 1 && loop_is_long(s->loop)));
}

/*
 * The next burst of c, which was read so often this turn; an empty one has gone to
 * its server unseen. False: there is none now, or c is closed.
 */
static inline bool read_client(struct client *c, struct burst *b, int reads)
{
	const size_t max = (size_t)sessions_longest(c->ss, MSG_MAX_UP) +
	    MSG_HEADER;

	if (!client_is_open(c) || c->stream.paused ||
	    !stream_is_ready(&c->stream))
		return false;
	if (has_had_share(&c->stream, reads,
	    sessions_settings(c->ss)->sbuf_loopcnt)) {
		stream_yield(&c->stream);
		return false;
	}
	if (c->carry.len > 0 && ceiling_stops(c->carry.len)) {
		shed_hold(c);
		return false;
	}
	const ssize_t n = bulk_is_near(&c->stream, c->rest.bytes) ?
	    relay_read_up(c, linked_server(c), b, max) :
	    carry_read(&c->carry, &c->stream, b, max);

	if (n == STREAM_NONE) {	/* ready no more, but where splice fails */
		b->len = 0;
		return true;
	}
	if (n < 0) {
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return false;
	}
	if (!client_is_open(c))
		return false;
	note_arrival(c);
	bulk_flow(&c->stream, c->pc.server == NULL ? NULL :
	    &server_of(c->pc.server)->stream, n);
	if (b->len > 0)
		bulk_note(&c->stream, n);
	else
		follow_up_move(c, n);
	return true;
}

/* One loop for what is carried and what is read, so that the hot path is inlined. */
void relay_client_input(struct client *c)
{
	struct burst b;
	bool carried = carry_again(&c->carry, &b);

	for (int reads = 0; carried || read_client(c, &b, reads);) {
		reads += !carried;
		if (b.len > 0 && !work_off(c, &b))
			return;
		/*
		 * A short read means that the socket is empty, but an error
		 * may have come with the bytes unseen. A linked client is
		 * looked at again later.
		 */
		if (!carried && b.len > 0 && c->pc.server == NULL &&
		    !c->stream.paused)
			stream_reread(&c->stream);
		carried = false;
	}
}

/* The replies of s are all passed on. */
static inline void part_at_end(struct client *c, struct server *s)
{
	part(c, s);
	if (c->stream.paused && client_is_open(c) &&
	    !stream_is_blocked(&c->stream))
		relay_resume(c);
}

void relay_conclude(struct client *c, struct server *s)
{
	if (s->own_query != OWN_QUERY_NONE || !relay_knows_end(c))
		return;
	if (s->keep.pins == 0 && s->ps.mode != POOL_SESSION)
		part_at_end(c, s);
	else if (!listener_move(c, s) && broker_same_params(c, s))
		relay_resume(c);
}

/* c is still to be told the end of its transaction. */
static void end_withheld(struct client *c)
{
	struct server *const s = linked_server(c);

	if (s == NULL || !may_part(c, s) || stream_is_suspended(&c->stream))
		return;
	if (c->relay.withheld == WITHHELD_TO_SETTLE)
		relay_conclude(c, s);
	else if (lets_go(c, s))
		part_at_end(c, s);
}

void relay_resume(struct client *c)
{
	struct burst b;

	if (c->relay.withheld != WITHHELD_NOT) {
		end_withheld(c);
		return;
	}
	if (carry_again(&c->carry, &b)) {
		if (!work_off(c, &b))
			return;
	} else {
		update(c);
	}
	/* more may have come while it waited: next turn, others are due too */
	if (!c->stream.paused && c->stream.ready)
		stream_yield(&c->stream);
}

/* --- from server to client --- */

/* A RESET has come to its end: its client has other values than s has. */
static bool must_set(const struct client *c, const struct server *s)
{
	return c->relay.resetting == RESET_DUE && track_is_empty(&s->track) &&
	    !s->track.uncertain && s->track.status != 'E' &&
	    s->rest.bytes == 0 && s->carry.len == 0 &&
	    !rest_passes(&c->rest);
}

/* What it heard meanwhile. Returns false when c was closed. */
static inline bool flush_heard(struct client *c)
{
	if (c != NULL && c->listening != NULL)
		channels_flush(c);
	return c == NULL || client_is_open(c);
}

enum handing {
	HANDING_NOTHING,	/* c keeps s */
	HANDING_READS,		/* s was asked something before */
	HANDING_OVER,		/* c has s no more */
};

static enum handing hand_back(struct client *c, struct server *s)
{
	if (lets_go(c, s)) {
		part_at_end(c, s);
		return HANDING_OVER;
	}
	if (!client_is_open(c) || !server_is_open(s))
		return HANDING_OVER;
	return s->own_query != OWN_QUERY_NONE ? HANDING_READS : HANDING_NOTHING;
}

/* The same as follow_up(), of a query of our own. */
static bool follow_up_own_query(struct server *s)
{
	if (!s->track.ready || !track_is_empty(&s->track) || s->carry.len > 0)
		return true;
	if (s->keep.flight == NULL)
		own_query_done(s);
	else if (relay_flight_again(linked_client(s), s))
		relay_resume(linked_client(s));
	return false;
}

/* After a burst: hand back, resume, stop. Returns false: read no more. */
static bool follow_up(struct relay_down *d)
{
	struct server *s = d->s;

	if (s->keep.flight != NULL && !relay_flight_look(d->c, s))
		return false;
	if (s->own_query != OWN_QUERY_NONE)
		return follow_up_own_query(s);
	if (d->c == NULL)
		return true;
	if (d->out.result == STREAM_BROKEN) {
		client_close(d->c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return false;
	}
	if (s->track.uncertain && !relay_probe(d->c))
		return false;
	/* the batch comes again, from what the client carries */
	if (d->c->relay.repeats) {
		relay_resume(d->c);
		return server_is_open(s);
	}
	/* c may have waited for replies, or for its queue to get shorter */
	const enum handing step = may_part(d->c, s) ? hand_back(d->c, s) :
	    HANDING_NOTHING;

	if (step != HANDING_NOTHING)
		return step == HANDING_READS;
	if (must_set(d->c, s)) {
		const bool same = broker_same_params(d->c, s);

		relay_reset_over(d->c);
		if (!same)
			return server_is_open(s);
	}
	if (d->c->stream.paused && !stream_is_blocked(&s->stream) &&
	    !track_is_full(&s->track))
		relay_resume(d->c);
	if (s->ps.client == &d->c->pc && stream_is_blocked(&d->c->stream))
		stream_pause(&s->stream);
	return true;
}

static void server_lost(struct server *s)
{
	s->stream.broken = true;
	server_close(s, CLOSE_SERVER_CRASHED);
}

static inline void note_flow(struct server *s, ssize_t n)
{
	bulk_flow(&s->stream, s->ps.client == NULL ? NULL :
	    &client_of(s->ps.client)->stream, n);
}

/* Bytes went to the client unseen. */
static void follow_down_move(struct server *s, ssize_t n)
{
	struct client *c = client_of(s->ps.client);

	s->ps.pool->counted.now.sent += (uint64_t)n;
	s->ps.used = time_now();
	if (c->stream.broken)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	else if (stream_is_blocked(&c->stream))
		stream_pause(&s->stream);
}

/* False: read no more. As work_off(), a part of its loop. */
static inline __attribute__((always_inline)) bool take_burst(struct server *s,
    const struct burst *b, size_t max)
{
	struct relay_down d;	/* its buffers are not worth zeroing */

	d.s = s;
	d.c = linked_client(s);
	d.max = (uint32_t)(max - MSG_HEADER);
	s->ps.used = time_now();
	const bool more = relay_down_burst(&d, b) && flush_heard(d.c) &&
	    follow_up(&d);

	if (!d.late)
		return more;
	if (server_is_open(s))
		stream_put_off(&s->stream);
	return false;
}

/* As read_client(). */
static inline bool read_server(struct server *s, struct burst *b, size_t max,
    int reads)
{
	if (!server_is_open(s) || s->stream.paused ||
	    !stream_is_ready(&s->stream))
		return false;
	if (has_had_share(&s->stream, reads,
	    sessions_settings(s->ss)->sbuf_loopcnt)) {
		stream_yield(&s->stream);
		return false;
	}
	const ssize_t n = bulk_is_near(&s->stream, s->rest.bytes) ?
	    relay_read_down(s, linked_client(s), b, max) :
	    carry_read(&s->carry, &s->stream, b, max);

	if (n == STREAM_NONE) {	/* ready no more, but where splice fails */
		b->len = 0;
		return true;
	}
	if (n < 0) {
		server_lost(s);
		return false;
	}
	note_flow(s, n);
	if (b->len > 0)
		bulk_note(&s->stream, n);
	else
		follow_down_move(s, n);
	return true;
}

void relay_server_input(struct server *s)
{
	const size_t max = (size_t)sessions_longest(s->ss, MSG_MAX_DOWN) +
	    MSG_HEADER;
	struct burst b;
	bool carried = s->carry.len > 0 &&
	    carry_is_whole(&s->carry, (uint32_t)(max - MSG_HEADER)) &&
	    carry_again(&s->carry, &b);

	for (int reads = 0; carried || read_server(s, &b, max, reads);) {
		reads += !carried;
		if (b.len > 0 && !take_burst(s, &b, max))
			return;
		carried = false;
	}
}

/* --- what was in the way is over --- */

void relay_server_drained(struct server *s)
{
	if (s->stream.broken)
		write_failed(s);
	else if (s->ps.client != NULL)
		relay_resume(client_of(s->ps.client));
}

/* Everything it was sent is fetched: its server may be read again. */
void relay_client_drained(struct client *c)
{
	if (c->stream.broken) {
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return;
	}
	if (c->pc.server != NULL)
		stream_resume(&server_of(c->pc.server)->stream);
	if (c->pc.state == CLIENT_ACTIVE)
		relay_resume(c);
}

void relay_unsuspend(struct client *c)
{
	if (!stream_is_suspended(&c->stream))
		return;
	stream_unsuspend(&c->stream);
	if (client_logs_in(c))
		return;
	/* what it waited for may have come to pass meanwhile */
	update(c);
	if (c->stream.paused || c->carry.len == 0)
		return;
	stream_reread(&c->stream);
	stream_yield(&c->stream);
}
