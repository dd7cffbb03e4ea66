/* relay_up.c - the hot path, from client to server.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/wheel.h"
#include "pool/counters.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/sql.h"
#include "proto/track_look.h"
#include "proto/track_run.h"
#include "session/broker.h"
#include "session/bulk.h"
#include "session/relay.h"
#include "session/relay_deallocate.h"
#include "session/relay_parts.h"
#include "session/relay_reset.h"
#include "session/sessions.h"
#include "session/slow.h"

/* --- pieces that the handlers use --- */

void relay_pass(struct relay_up *up)
{
	const size_t n = up->have < up->size ? up->have : up->size;

	outbox_pass(&up->out, up->m, n);
	up->c->skip = (uint32_t)(up->size - n);
	up->used = n;
}

enum relay_step relay_fail(struct relay_up *up, const char *text)
{
	if (up->s != NULL)
		outbox_flush(&up->out);
	client_fail(up->c, NULL, text);
	return RELAY_STOP;
}

static enum relay_step no_memory(struct relay_up *up)
{
	client_fail(up->c, "53200", "out of memory");
	return RELAY_STOP;
}

enum relay_step relay_request(struct relay_up *up)
{
	struct track *t = &up->s->track;
	const char type = (char)up->m[0];

	if (!track_add_plain(t, type) &&
	    track_add(t, type, TRACK_FORWARD, NULL) < 0)
		return no_memory(up);
	relay_pass(up);
	return RELAY_NEXT;
}

void relay_send_fake(struct outbox *to_client, char type)
{
	static const uint8_t parsed[] = { BE_PARSE_COMPLETE, 0, 0, 0, 4 };
	static const uint8_t closed[] = { BE_CLOSE_COMPLETE, 0, 0, 0, 4 };

	outbox_pass(to_client, type == FE_PARSE ? parsed : closed,
	    sizeof parsed);
}

/* The message is not forwarded; its reply stands in line with the others. */
enum relay_step relay_fake(struct relay_up *up, char type, void *op)
{
	struct track *t = up->s == NULL ? NULL : &up->s->track;
	struct outbox o;

	up->used = up->size;
	if (t != NULL && (!track_is_empty(t) || up->s->skip > 0))
		return track_add(t, type, TRACK_FAKE, op) < 0 ?
		    no_memory(up) : RELAY_NEXT;
	prepared_op_free(op);
	outbox_init(&o, &up->c->stream);
	relay_send_fake(&o, type);
	outbox_flush(&o);
	return RELAY_NEXT;
}

enum relay_step relay_wait(struct relay_up *up)
{
	static const uint8_t flush[] = { FE_FLUSH, 0, 0, 0, 4 };

	up->c->hold = true;
	/* the client may never ask for what we must know */
	if (!track_awaits_ready(&up->s->track))
		outbox_pass(&up->out, flush, sizeof flush);
	return RELAY_SHORT;
}

/* --- one handler a kind of message --- */

/*
 * What comes behind a DISCARD ALL depends on its success: is a statement still
 * prepared? It is not sent before that is known. A long query may have one
 * where we don't see it.
 */
static bool is_watershed(const struct relay_up *up)
{
	const char *sql = (const char *)up->m + MSG_HEADER;
	const size_t n = up->size - MSG_HEADER;

	if (relay_reset_asked(up))
		return true;
	return up->named && (up->have < up->size ||
	    (sql_may_matter(sql, n) && sql_forgets_all(sql, n)));
}

/* Query and FunctionCall. */
static enum relay_step pass_call(struct relay_up *up)
{
	const bool in_batch = track_is_in_batch(&up->s->track);
	const enum relay_step step = relay_request(up);

	if (in_batch && step == RELAY_NEXT)
		track_tag(&up->s->track, 1);
	return step;
}

static enum relay_step on_query(struct relay_up *up)
{
	enum relay_step step;

	if (relay_is_cut(up))
		return RELAY_SHORT;
	if (!sessions_settings(up->c->ss)->disable_pqexec) {
		if (relay_deallocate(up, &step))
			return step;
		if (relay_reset_waits(up))
			return relay_wait(up);
		up->c->hold = is_watershed(up) ||
		    up->c->resetting != RESET_NONE;
		relay_forget_leaving(up->c);
		return pass_call(up);
	}
	log_at(LEVEL_ERROR, &up->c->who,
	    "client used \"Query\" packet type");
	return relay_fail(up, "PQexec disallowed");
}

/* As with a DISCARD ALL that is a simple query. */
static enum relay_step on_execute(struct relay_up *up)
{
	const bool waits = up->c->forgets || up->c->leaving != NULL;

	if (waits && up->have < up->size)
		return RELAY_SHORT;
	const enum relay_step step = up->c->leaving != NULL ?
	    relay_execute_leaving(up) : relay_request(up);

	if (waits && step == RELAY_NEXT)
		(void)relay_wait(up);
	return step;
}

/* What comes behind a RESET has the values that the client then has. */
static enum relay_step on_sync(struct relay_up *up)
{
	up->c->hold = up->c->resetting != RESET_NONE;
	return relay_request(up);
}

static enum relay_step on_copy_end(struct relay_up *up)
{
	if (track_is_full(&up->s->track))
		return RELAY_SHORT;
	if (track_add(&up->s->track, (char)up->m[0], TRACK_FORWARD, NULL) < 0)
		return no_memory(up);
	relay_pass(up);
	return RELAY_NEXT;
}

static enum relay_step on_pass(struct relay_up *up)
{
	relay_pass(up);
	return RELAY_NEXT;
}

static enum relay_step on_terminate(struct relay_up *up)
{
	if (up->s != NULL)
		outbox_flush(&up->out);
	client_close(up->c, "client close request");
	return RELAY_STOP;
}

static enum relay_step on_unknown(struct relay_up *up)
{
	return relay_fail(up, "unknown pkt");
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
	[FE_FUNCTION_CALL] = { pass_call, pass_call, NEED_SERVER },
	[FE_SYNC] = { on_sync, on_sync, NEED_SERVER },
	[FE_EXECUTE] = { relay_request, on_execute, NEED_SERVER },
	[FE_PARSE] = { relay_request, relay_parse, NEED_SERVER },
	[FE_BIND] = { relay_request, relay_bind, NEED_SERVER },
	[FE_DESCRIBE] = { relay_request, relay_describe, NEED_SERVER },
	[FE_CLOSE] = { relay_request, relay_close, NEED_SERVER },
	[FE_FLUSH] = { on_pass, on_pass, NEED_LINK },
	[FE_COPY_DATA] = { on_pass, on_pass, NEED_LINK },
	[FE_COPY_DONE] = { on_copy_end, on_copy_end, NEED_LINK },
	[FE_COPY_FAIL] = { on_copy_end, on_copy_end, NEED_LINK },
	[FE_TERMINATE] = { on_terminate, on_terminate, NEED_NONE },
};

/* --- the walk over a burst --- */

static void bad_header(struct relay_up *up)
{
	char text[MSG_BAD_TEXT];

	relay_fail(up, msg_bad_header(up->m, up->have, text));
}

/* A query begins with the first message after the last one was answered. */
static void note_start(struct relay_up *up)
{
	struct client *c = up->c;
	const struct settings *set = sessions_settings(c->ss);
	struct counters *n = &c->pc.pool->counted.now;

	/* it has been here since this turn began */
	c->query_start = time_now();
	c->waited = 0;
	if (set->log_query_text && set->log_min_duration > 0)
		slow_note(up);
	n->query_count++;
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

	if (c->discard) {
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
	if (!broker_acquire(c))
		return false;
	up->s = server_of(c->pc.server);
	outbox_init(&up->out, &up->s->stream);
	return true;
}

/* The rest of a message whose head has passed, or was dropped, before. */
static void pass_rest(struct relay_up *up)
{
	struct client *c = up->c;
	const size_t n = up->have < c->skip ? up->have : c->skip;

	if (!c->skip_drop)
		outbox_pass(&up->out, up->m, n);
	c->skip -= (uint32_t)n;
	if (c->skip == 0)
		c->skip_drop = false;
	up->used = n;
}

enum relay_step relay_drop(struct relay_up *up)
{
	const size_t n = up->have < up->size ? up->have : up->size;

	up->c->skip = (uint32_t)(up->size - n);
	up->c->skip_drop = up->c->skip > 0;
	up->used = n;
	return RELAY_NEXT;
}

/* Not while it is the client that the server waits for. */
static bool must_hold(const struct client *c, const struct server *s)
{
	return c->hold && c->skip == 0 && !track_is_empty(&s->track) &&
	    !track_wants_data(&s->track) && !track_is_unsure(&s->track);
}

static enum relay_step next_message(struct relay_up *up)
{
	struct client *c = up->c;
	enum relay_step step;

	if (c->skip > 0) {
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

	if (up->s != NULL && must_hold(c, up->s))
		return RELAY_SHORT;
	c->hold = false;
	if (r->plain == NULL)
		return on_unknown(up);
	if (r->need == NEED_LINK && up->s == NULL)
		return relay_drop(up);
	if (r->need == NEED_SERVER) {
		if (up->s == NULL && !get_server(up, &step))
			return step;
		if (c->query_start == 0)
			note_start(up);
		if (track_is_full(&up->s->track))
			return RELAY_SHORT;
		up->used = relay_run_up(up);
		if (up->used > 0) {
			outbox_pass(&up->out, up->m, up->used);
			return RELAY_NEXT;
		}
		if (track_is_unsure(&up->s->track) && up->m[0] != FE_SYNC)
			return relay_fail(up, RELAY_UNSURE);
	}
	/* Message Flow, Extended Query: discarded up to Sync, also by us */
	if (up->named && r->named != r->plain && up->s->track.aborted) {
		c->tried = false;
		return relay_drop(up);
	}
	return up->named ? r->named(up) : r->plain(up);
}

/*
 * Interest follows from state, here and nowhere else. A client is read unless
 * its server takes no more, or what it has not fetched yet could only grow.
 */
void relay_update(struct client *c)
{
	struct server *s = c->pc.server == NULL ? NULL :
	    server_of(c->pc.server);
	const bool stuck = stream_is_blocked(&c->stream) &&
	    (s == NULL || track_is_empty(&s->track));
	const bool full = s != NULL && (stream_is_blocked(&s->stream) ||
	    s->stream.broken ||
	    track_is_full(&s->track) || s->chore != CHORE_NONE ||
	    must_hold(c, s));

	if (stuck || full || c->pc.state != CLIENT_ACTIVE)
		stream_pause(&c->stream);
	else
		stream_resume(&c->stream);
}

/*
 * A client that still sends data of a COPY that has failed does not keep the
 * server: what comes late is dropped, as PostgreSQL would do. (Message Flow,
 * COPY Operations; the reference waits for its end, spec/pooling.md section 15)
 */
bool relay_may_part(const struct client *c, const struct server *s)
{
	return track_is_done(&s->track) && s->chore == CHORE_NONE &&
	    s->skip == 0 && s->carry.len == 0 &&
	    (c->skip == 0 || c->skip_drop) &&
	    s->ps.mode != POOL_SESSION &&
	    c->replication == REPLICATION_NONE;
}

/* The server is gone; what it has said before is still to be had. */
static void write_failed(struct server *s)
{
	struct client *const c = s->ps.client == NULL ? NULL :
	    client_of(s->ps.client);

	if (c != NULL)
		relay_update(c);	/* there is no place for what it sends */
	if (c == NULL || !stream_is_blocked(&c->stream))
		stream_resume(&s->stream);
	stream_reread(&s->stream);
	if (!s->stream.paused)
		relay_server_input(s);
	if (server_is_open(s) && !s->stream.paused && !s->stream.ready)
		server_close(s, "server connection closed");
}

/*
 * May what c has sent be worked on? Nothing else decides that. Not while all
 * stands still, whatever its server says: it may be another process's by then.
 * Its SETs come first, and a server that is gone can only be listened to.
 */
static bool may_work(const struct client *c)
{
	const struct server *s = c->pc.server == NULL ? NULL :
	    server_of(c->pc.server);

	return !stream_is_suspended(&c->stream) && (s == NULL ||
	    (s->chore == CHORE_NONE && !s->stream.broken));
}

/* Everything of b that can go goes. Returns false when c was closed. */
static bool work_off(struct client *c, const struct burst *b)
{
	enum relay_step step = RELAY_NEXT;
	struct relay_up up;	/* its buffers are not worth zeroing */
	size_t used = 0;

	up.c = c;
	up.s = c->pc.server == NULL ? NULL : server_of(c->pc.server);
	/* nothing is read meanwhile: b is the carry */
	if (!may_work(c))
		return true;
	up.max = sessions_settings(c->ss)->max_packet_size;
	up.named = relay_translates(c);
	up.injected = 0;
	outbox_init(&up.out, up.s == NULL ? NULL : &up.s->stream);
	while (used < b->len && step == RELAY_NEXT) {
		up.m = b->at + used;
		up.have = b->len - used;
		step = next_message(&up);
		if (!client_is_open(c))
			return false;
		if (step == RELAY_NEXT)
			used += up.used;
	}
	c->pc.pool->counted.now.received += used;
	if (up.s != NULL)
		outbox_flush(&up.out);
	else	/* the pool may sleep, but this is to be counted */
		wheel_wake(&c->pc.pool->wheel);
	if (carry_rest(&c->carry, b, used) < 0) {
		client_fail(c, "53200", "out of memory");
		return false;
	}
	if (up.s != NULL && up.s->track.uncertain && !relay_probe(c))
		return false;
	if (up.out.result == STREAM_BROKEN ||
	    (up.s != NULL && up.s->track.uncertain && up.s->stream.broken)) {
		write_failed(up.s);
		return false;
	}
	relay_update(c);
	/* nothing was asked, or the message that the server is late for ended */
	if (up.s != NULL && relay_may_part(c, up.s)) {
		broker_release(up.s);
		stream_reread(&c->stream);
	}
	return client_is_open(c);
}

/* Bytes went to the server unseen. */
static void follow_move(struct client *c, ssize_t n)
{
	struct server *s = server_of(c->pc.server);

	c->pc.pool->counted.now.received += (uint64_t)n;
	if (s->track.uncertain && !relay_probe(c))
		return;
	if (s->stream.broken)
		write_failed(s);
	else
		relay_update(c);
}

/* COPY data in bulk goes to the server unseen. As bulk_move(). */
static ssize_t read_bulk(struct client *c, struct burst *b, size_t max)
{
	struct server *s = c->pc.server == NULL ? NULL :
	    server_of(c->pc.server);

	if (s == NULL || c->skip_drop || c->carry.len > 0 ||
	    (c->hold && c->skip < SPLICE_MIN) ||
	    s->chore != CHORE_NONE || track_is_empty(&s->track) ||
	    !splice_can(&c->stream, &s->stream))
		return carry_read(&c->carry, &c->stream, b, max);
	struct bulk k = { .from = &c->stream, .to = &s->stream,
	    .skip = &c->skip, .kinds = { FE_COPY_DATA, FE_COPY_DATA },
	    .max = (uint32_t)(max - MSG_HEADER) };

	return bulk_move(&k, b);
}

/* Bytes came. */
static void note_arrival(struct client *c)
{
	c->request_time = time_now();
	if (timeout_running(&c->timer))
		timeout_start(c->timer.list, &c->timer, c->request_time);
}

static void read_client(struct client *c)
{
	const int rounds = sessions_settings(c->ss)->sbuf_loopcnt;
	const size_t max = (size_t)sessions_settings(c->ss)->max_packet_size +
	    MSG_HEADER;
	struct burst b;

	for (int i = 0; client_is_open(c) && !c->stream.paused &&
	    stream_is_ready(&c->stream); i++) {
		if (rounds > 0 && i == rounds) {
			stream_yield(&c->stream);
			return;
		}
		const ssize_t n = bulk_is_near(&c->stream, c->skip) ?
		    read_bulk(c, &b, max) :
		    carry_read(&c->carry, &c->stream, &b, max);

		if (n == STREAM_NONE)
			continue;	/* ready no more, but where splice fails */
		if (n < 0) {
			client_close(c, "client unexpected eof");
			return;
		}
		if (!client_is_open(c))
			return;
		note_arrival(c);
		bulk_flow(&c->stream, c->pc.server == NULL ? NULL :
		    &server_of(c->pc.server)->stream, n);
		if (b.len == 0) {
			follow_move(c, n);
			continue;
		}
		bulk_note(&c->stream, n);
		if (!work_off(c, &b))
			return;
		/*
		 * A short read means that the socket is empty, but an error
		 * may have come with the bytes unseen. A linked client is
		 * looked at again later.
		 */
		if (c->pc.server == NULL && !c->stream.paused)
			stream_reread(&c->stream);
	}
}

void relay_client_input(struct client *c)
{
	struct burst b;

	if (carry_again(&c->carry, &b) && !work_off(c, &b))
		return;
	read_client(c);
}

void relay_resume(struct client *c)
{
	struct burst b;

	if (carry_again(&c->carry, &b)) {
		if (!work_off(c, &b))
			return;
	} else {
		relay_update(c);
	}
	/* more may have come while it waited: next turn, others are due too */
	if (!c->stream.paused && c->stream.ready)
		stream_yield(&c->stream);
}

void relay_server_drained(struct server *s)
{
	if (s->stream.broken)
		write_failed(s);
	else if (s->ps.client != NULL)
		relay_resume(client_of(s->ps.client));
}
