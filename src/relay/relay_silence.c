/* relay_silence.c - the end of what waits: a server that is silent, a client
 * that
 * has left.
 *
 * Nothing of ours may hold a pair for ever. A client that is not read may
 * have hung
 * up meanwhile; and an answer that is awaited may never come, because the
 * server
 * has taken what it was sent in another way than we have. So a server that was
 * silent for long is asked, where that does no harm; see track_silence().
 * SPDX-License-Identifier: ISC */
#include "relay/relay_silence.h"

#include "io/socket.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"

#define GONE_LIMIT USEC		/* for what a client said before it hung up */

static usec_t silent_since(const struct client *c, const struct server *s)
{
	const usec_t said = s->ps.used > c->request_time ? s->ps.used :
	    c->request_time;

	return said > c->query_start ? said : c->query_start;
}

/* An own query has a limit of its own; what a client does not fetch, holds nobody. */
static bool is_at_rest(const struct client *c, const struct server *s)
{
	return !client_logs_in(c) && s->own_query == OWN_QUERY_NONE &&
	    s->keep.flight == NULL &&
	    !stream_is_suspended(&c->stream) &&
	    !stream_is_suspended(&s->stream) && !stream_is_blocked(&c->stream);
}

/*
 * Nobody awaits answers any more. As if the end had been read, but what stands
 * ahead of it, and was held, has a while to get its turn.
 */
static bool has_left(const struct client *c, const struct server *s,
    usec_t now)
{
	return c->stream.hup && c->stream.paused && is_at_rest(c, s) &&
	    time_age(silent_since(c, s), now) > GONE_LIMIT;
}

bool relay_has_hung_up(const struct client *c)
{
	const struct server *const s = c->pc.server == NULL ? NULL :
	    server_of(c->pc.server);

	return s != NULL && is_at_rest(c, s) &&
	    !stream_is_blocked(&s->stream) && c->carry.len == 0 &&
	    socket_has_ended(c->stream.fd);
}

/* Is all sent, and nothing half said? Then a message of ours can follow. */
static bool is_between_messages(const struct client *c, const struct server *s)
{
	return !s->stream.paused && !s->stream.broken &&
	    !stream_is_blocked(&s->stream) && s->carry.len == 0 &&
	    s->rest.bytes == 0 && c->rest.bytes == 0 &&
	    c->replication == REPLICATION_NONE &&
	    c->relay.withheld == WITHHELD_NOT && !c->relay.repeats &&
	    c->relay.resetting == RESET_NONE && !track_is_full(&s->track);
}

static void relay_silence_ask(struct client *c, struct server *s)
{
	static const uint8_t sync[] = { FE_SYNC, 0, 0, 0, 4 };

	log_at(LEVEL_DEBUG, &s->who, "silent for long: sending a Sync");
	/* nothing may come between */
	c->relay.hold = true;
	stream_pause(&c->stream);
	if (stream_write_bytes(&s->stream, sync, sizeof sync) == STREAM_BROKEN)
		server_close(s, CLOSE_SERVER_CONNECTION_CLOSED);
}

void relay_look_at(struct client *c, struct server *s, usec_t limit)
{
	const usec_t now = time_now();

	if (has_left(c, s, now)) {
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return;
	}
	if (limit == 0 || time_age(silent_since(c, s), now) <= limit ||
	    !is_at_rest(c, s) || !is_between_messages(c, s))
		return;
	switch (track_silence(&s->track)) {
	case TRACK_UNTOLD:
		return;
	case TRACK_ASK:
		relay_silence_ask(c, s);
		return;
	case TRACK_LOST:
		server_fail(s, CLOSE_ANSWER_LOST);
		return;
	}
}
