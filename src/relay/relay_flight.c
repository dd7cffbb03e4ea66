/* relay_flight.c - a request that passes behind SETs; see flight.h.
 * SPDX-License-Identifier: ISC */
#include "relay/relay_flight.h"

#include <string.h>

#include "base/mem.h"
#include "broker/broker.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/track.h"
#include "relay/relay_own.h"
#include "session/sessions.h"

#define OURS UINT32_MAX		/* the subject of what ends the SETs */

static const uint8_t sync[] = { FE_SYNC, 0, 0, 0, 4 };

bool relay_flight_begin(struct relay_up *up)
{
	static const char types[] = { FE_QUERY, FE_PARSE, FE_BIND, FE_EXECUTE,
		FE_PARSE, FE_BIND, FE_EXECUTE };
	struct flight *const f = up->s->keep.flight;

	if (f->begun)
		return true;
	f->begun = true;
	up->s->unnamed = OWN_UNKNOWN;
	for (size_t i = 0; i < sizeof types; i++) {
		if (track_add(&up->s->track, types[i], TRACK_SKIP, NULL) < 0) {
			server_fail(up->s, CLOSE_OUT_OF_MEMORY);
			return false;
		}
		if (i > 0)
			track_tag(&up->s->track, OURS);
	}
	outbox_copy_all(&up->out, f->sets.at, f->sets.len);
	return true;
}

enum relay_step relay_flight_passed(struct relay_up *up, enum relay_step step)
{
	struct flight *const f = up->s->keep.flight;

	if (step == RELAY_NEXT)
		f->used += up->used;
	if (f->used < f->len)
		return step;
	/* what is skipped ends with a Sync: a Query has none of its own */
	if (f->bytes[0] == FE_QUERY) {
		if (track_add(&up->s->track, FE_SYNC, TRACK_SKIP, NULL) < 0)
			return relay_no_memory(up);
		outbox_pass(&up->out, sync, sizeof sync);
	}
	return RELAY_SHORT;
}

void relay_flight_wait(struct server *s)
{
	if (s->own_query == OWN_QUERY_NONE)
		server_set_own_query(s, OWN_QUERY_PARAMS);
}

static bool is_ours(const struct track *t)
{
	const struct track_req *const r = track_is_empty(t) ? NULL :
	    track_req(t, 0);

	return r != NULL && r->how == TRACK_SKIP &&
	    (r->type == FE_QUERY || r->tag == OURS);
}

bool relay_sets_done(struct client *c, struct server *s)
{
	server_set_own_query(s, OWN_QUERY_NONE);
	s->keep.lending = LENDING_OVER;
	/* a request for the query to come has waited for it: see cancel.c */
	if (s->ps.pool->clients[CLIENT_CANCEL_WAITING] != NULL)
		catalog_touch_pool(s->ss->catalog, s->ps.pool);
	if (broker_adopt_params(c, s) == 0)
		return true;
	client_fail(c, CLOSE_OUT_OF_MEMORY);
	return false;
}

bool relay_flight_look(struct client *c, struct server *s)
{
	const struct flight *const f = s->keep.flight;

	if (!f->begun || f->failed || is_ours(&s->track))
		return true;
	flight_free(&s->keep.flight);
	/* COMMIT is told, but by no ReadyForQuery */
	s->track.status = 'I';
	return relay_sets_done(c, s);
}

bool relay_flight_failed(struct server *s)
{
	struct flight *const f = s->keep.flight;
	struct track *const t = &s->track;

	f->ends_badly = f->ends_badly ||
	    (!f->failed && track_req(t, 0)->type != FE_QUERY);
	f->failed = true;
	relay_own_failed(client_of(s->ps.client), s);
	(void)track_reply(t, BE_ERROR_RESPONSE, 0);
	if (t->aborted) {
		/* the Sync of the request was not sent yet */
		if (track_add(t, FE_SYNC, TRACK_SKIP, NULL) < 0)
			server_fail(s, CLOSE_OUT_OF_MEMORY);
		else if (stream_write_bytes(&s->stream, sync, sizeof sync) ==
		    STREAM_BROKEN)
			server_close(s, CLOSE_SERVER_CONNECTION_CLOSED);
	} else if (track_req(t, 0)->type == FE_SYNC &&
	    track_req(t, 0)->how == TRACK_FORWARD) {
		track_own(t);
	}
	return server_is_open(s);
}

/* What has gone of the request is ahead of what c carries. 0 or -1. */
static int take_back(struct client *c, const struct flight *f)
{
	const size_t n = f->used + c->carry.len;
	uint8_t *const bytes = mem_alloc(n);

	if (bytes == NULL)
		return -1;
	memcpy(bytes, f->bytes, f->used);
	if (c->carry.len > 0)
		memcpy(bytes + f->used, c->carry.at, c->carry.len);
	const int rc = carry_keep(&c->carry, bytes, n);

	mem_free(bytes);
	return rc;
}

/* What s had is what it has: the transaction of the SETs has failed. */
static void relay_flight_undo(struct client *c, struct server *s)
{
	struct flight *const f = s->keep.flight;
	struct params *const now = s->params;

	s->params = f->params;
	f->params = now;
	baggage_put(&s->keep.has, f->had);
	s->keep.drawn = f->drawn;
	keep_note_path(s);
	trace_clear(&s->trace);
	s->asked.len = 0;
	c->relay.hold = c->relay.execute_holds = false;
	flight_free(&s->keep.flight);
	server_set_own_query(s, OWN_QUERY_NONE);
}

bool relay_flight_again(struct client *c, struct server *s)
{
	const struct flight *const f = s->keep.flight;
	const bool open = s->track.status == 'E';

	/* COMMIT itself has failed: nobody knows what there is */
	if (f->ends_badly && !open) {
		server_close(s, CLOSE_INVALID_SERVER_PARAMETER);
		return false;
	}
	if (take_back(c, f) < 0) {
		client_fail(c, CLOSE_OUT_OF_MEMORY);
		return false;
	}
	relay_flight_undo(c, s);
	if (open && server_send_query(s, "ROLLBACK", OWN_QUERY_PARAMS) < 0)
		return false;
	return broker_same_params(c, s) && s->own_query == OWN_QUERY_NONE;
}
