/* broker_release.c - a server is free again: the next client, another
 * worker's, or where it goes.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <utlist.h>

#include "base/container.h"
#include "base/ledger.h"
#include "base/probe.h"
#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "broker/canceler.h"
#include "notify/listener.h"
#include "pool/limit.h"
#include "pool/parts.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "transfer/server_move.h"

void broker_touch_next(struct sessions *ss, const struct pool *p)
{
	if (!limit_has_rivals(p))
		return;
	for (int kind = 0; kind < LIMIT_KINDS; kind++) {
		struct pool *q = limit_is_near(p, (enum limit_kind)kind) ?
		    limit_next(p, (enum limit_kind)kind, ss->catalog,
		    time_now()) : NULL;

		if (q != NULL)
			broker_touch(ss, q);
	}
	if (limit_is_rival_first(p))
		broker_touch(ss, (struct pool *)p);
}

static bool find_recipient(const struct sessions *ss, const struct pool *p,
    unsigned *to)
{
	*to = (ss->worker + 1) % (ss->others + 1);
	return ss->forced || limit_find_recipient(p, to);
}

/* Is it for another worker? Then nobody gets it here. */
static bool hands_over(struct server *s)
{
	struct sessions *const ss = s->ss;
	unsigned to;

	if (!find_recipient(ss, s->ps.pool, &to) || !server_may_leave(s))
		return false;
	/* has names that are used elsewhere, maybe: its slot goes */
	if (s->prepared.forgotten > 0) {
		server_close(s, CLOSE_EVICTED);
		return true;
	}
	/* who has called us is not done with it */
	s->ps.trip = TRIP_AHEAD;
	s->ps.to = (uint8_t)to;
	broker_touch(ss, s->ps.pool);
	return true;
}

/* s, idle, may be for another part. */
static void serve_parts(struct server *s)
{
	struct sessions *const ss = s->ss;
	struct pool *const p = s->ps.pool;

	if (hands_over(s))
		return;
	broker_serve(ss, p);
	/* what other parts know may be past */
	if (ledger_wants(p->share.ledger) != 0)
		broker_touch(ss, p);
}

/* As broker_serve(); what s, idle, is not used for. Out of the hot path. */
static __attribute__((noinline, cold)) void serve_rivals(struct server *s)
{
	struct pool *const p = s->ps.pool;

	if (p->share.ledger == NULL)
		broker_serve(s->ss, p);
	else
		serve_parts(s);
	if (s->ps.state == SERVER_IDLE)
		broker_touch_next(s->ss, p);
}

/* s has just served its pool: does the slot go to another pool now? */
static bool must_hand_over(const struct server *s)
{
	const struct pool *p = s->ps.pool;

	return limit_has_rivals(p) && s->ps.state != SERVER_LOGIN &&
	    pool_pick_client(p) != NULL &&
	    limit_takes_away(&s->ps, s->ss->catalog, time_now());
}

/* False: it is asked; meanwhile nobody gets it. */
static inline bool knows_base(struct server *s)
{
	if (!keep_is_on(s->ps.pool) || s->keep.has != NULL ||
	    keep_knows_base(s, NULL))
		return true;
	if (server_is_open(s))
		pool_server_set(&s->ps, SERVER_TESTED);
	return false;
}

/* Whatever it could be used for; CLOSE_NONE: none. */
static enum close_reason why_to_close(const struct server *s)
{
	const struct pool *p = s->ps.pool;

	/* the server closed right after its last reply */
	if (s->stream.hup || s->stream.broken)
		return CLOSE_SERVER_CRASHED;
	if (pool_stands_still(p, s->ss->catalog))
		return CLOSE_PAUSE_MODE;
	const enum close_reason why = limit_exceeded(&s->ps);

	return why != CLOSE_NONE ? why :
	    must_hand_over(s) ? CLOSE_EVICTED : CLOSE_NONE;
}

/* lent: a client has used s since it was settled last. */
static void release_settle(struct server *s, bool lent)
{
	struct sessions *ss = s->ss;
	struct pool *p = s->ps.pool;
	enum close_reason why = why_to_close(s);

	if (why != CLOSE_NONE) {
		server_close(s, why);
		return;
	}
	if (lent)
		broker_stain(s);
	switch (pool_release_verdict(&s->ps, lent, time_now(), &why)) {
	case POOL_TO_CLOSE:
		if (why == CLOSE_SERVER_LIFETIME_OVER)
			p->last_lifetime_close = time_now();
		server_close(s, why);
		return;
	case POOL_TO_BEING_CANCELED:
		pool_server_set(&s->ps, SERVER_BEING_CANCELED);
		return;
	case POOL_TO_TESTED:
		pool_server_set(&s->ps, SERVER_TESTED);
		(void)server_send_query(s,
		    sessions_settings(ss)->server_reset_query, OWN_QUERY_RESET);
		return;
	case POOL_TO_CLEANED:
		pool_server_set(&s->ps, SERVER_TESTED);
		broker_clean(s);
		return;
	case POOL_TO_USED:
		if (!knows_base(s))
			return;
		pool_server_set(&s->ps, SERVER_USED);
		broker_touch(ss, p);
		return;
	case POOL_TO_IDLE:
		if (!knows_base(s))
			return;
		pool_server_set(&s->ps, SERVER_IDLE);
		if (limit_has_rivals(p))
			serve_rivals(s);
		else
			broker_serve(ss, p);
		if (p->lookups > 0)
			broker_touch(ss, p);
		return;
	}
}

void broker_settle(struct server *s)
{
	release_settle(s, s->ps.state == SERVER_ACTIVE ||
	    s->ps.state == SERVER_BEING_CANCELED);
}

void broker_part(struct client *c)
{
	PROBE(server__release, c->id, server_of(c->pc.server)->id);
	pool_unlink(&c->pc);
}

static void unlink_pair(struct client *c, struct server *s)
{
	canceler_detach(s);
	stream_flow_over(&s->stream);
	broker_part(c);
}

void broker_release(struct server *s)
{
	struct client *c = client_of(s->ps.client);

	if (log_wants(LEVEL_NOISE))
		log_at(LEVEL_NOISE, &c->who, "parted from S-%p", (void *)s);
	unlink_pair(c, s);
	broker_idle_begins(c);
	broker_settle(s);
}

void broker_free(struct server *s)
{
	/* as if the client had released s just now */
	const bool lent = s->own_query == OWN_QUERY_ROLLBACK ||
	    s->ps.state == SERVER_BEING_CANCELED;

	server_set_own_query(s, OWN_QUERY_NONE);
	release_settle(s, lent);
}

/* Why a server can't be kept when its client leaves now; CLOSE_NONE: it can. */
static enum close_reason spoiled(const struct client *c,
    const struct server *s)
{
	if (rest_passes(&c->rest) || stream_is_blocked(&s->stream))
		return CLOSE_CLIENT_GONE_WHILE_SENDING;
	if (s->own_query != OWN_QUERY_NONE || s->phase == SERVER_PHASE_LOOKUP)
		return CLOSE_CLIENT_GONE_NOT_READY;
	/* a stream goes on until its client leaves */
	if (!track_is_empty(&s->track))
		return s->ps.dedicated ? CLOSE_REPLICATION_CLIENT_CLOSED :
		    CLOSE_CLIENT_GONE_IN_QUERY;
	if (!track_is_done(&s->track) || s->rest.bytes > 0 || s->carry.len > 0)
		return CLOSE_CLIENT_GONE_NOT_READY;
	return CLOSE_NONE;
}

/*
 * Is an open transaction all that stands between s and the next client? Then
 * the server owes nothing, has said nothing that was not read, and nothing is
 * on its way to it: a ROLLBACK is the next thing that it will see.
 */
static bool can_roll_back(const struct client *c, const struct server *s)
{
	const struct track *t = &s->track;

	return sessions_settings(s->ss)->server_rollback_on_disconnect &&
	    t->ready && t->status != 'I' && track_is_empty(t) &&
	    s->phase == SERVER_PHASE_POOLED && s->own_query == OWN_QUERY_NONE &&
	    s->rest.bytes == 0 && s->carry.len == 0 &&
	    !rest_passes(&c->rest) &&
	    !stream_is_blocked(&s->stream) && !s->stream.hup &&
	    !s->stream.broken && !s->ps.dedicated && !s->ps.close_needed &&
	    s->ps.cancels == 0 && !pool_is_paused(s->ps.pool, s->ss->catalog);
}

static void roll_back(struct client *c, struct server *s)
{
	unlink_pair(c, s);
	pool_server_set(&s->ps, SERVER_TESTED);
	timeout_start(&s->ss->rollback_list, &s->timer, time_now());
	(void)server_send_query(s, "ROLLBACK", OWN_QUERY_ROLLBACK);
}

/* The answer is of no use any more: s will be cleaned. */
static void leave_probe(struct client *c, struct server *s)
{
	unlink_pair(c, s);
	s->ps.stained = true;
	pool_server_set(&s->ps, SERVER_TESTED);
}

void broker_client_gone(struct client *c)
{
	if (c->pc.server == NULL)
		return;
	struct server *s = server_of(c->pc.server);

	if (s->own_query == OWN_QUERY_PROBE && !stream_is_blocked(&s->stream)) {
		stream_resume(&s->stream);
		leave_probe(c, s);
		return;
	}
	s->trace.waits = false;

	const enum close_reason why = s->ps.state == SERVER_DEDICATED_LOGIN ?
	    CLOSE_REPLICATION_CLIENT_GONE : spoiled(c, s);

	stream_resume(&s->stream);
	if (why == CLOSE_NONE) {
		broker_release(s);
		return;
	}
	if (can_roll_back(c, s)) {
		roll_back(c, s);
		return;
	}
	/* still linked, so that no Terminate ends a message cut in half */
	server_close(s, why);
}

void broker_give_idle(struct pool *p)
{
	struct pool_server *ps;
	unsigned to;

	while (pool_pick_client(p) == NULL &&
	    (ps = pool_pick_server(p)) != NULL &&
	    limit_find_recipient(p, &to)) {
		struct server *const s = server_of(ps);

		if (!server_may_leave(s))
			return;
		/* see hands_over() */
		if (s->prepared.forgotten > 0)
			server_close(s, CLOSE_EVICTED);
		else if (!server_depart(s, to))
			return;
	}
}

void broker_arrived(struct sessions *ss, struct pool *p)
{
	broker_touch(ss, p);
	broker_touch_next(ss, p);
}

void broker_send_off(struct sessions *ss, struct pool *p)
{
	struct pool_server *ps, *next;

	/* what is in the mail counts where all see it, as with parts */
	if (ss->forced && ss->catalog->part.book != NULL)
		(void)parts_enter(p, ss->catalog);
	DL_FOREACH_SAFE(p->servers[SERVER_IDLE], ps, next) {
		if (ps->trip != TRIP_AHEAD)
			continue;
		ps->trip = TRIP_NONE;
		if (server_may_leave(server_of(ps)))
			(void)server_depart(server_of(ps), ps->to);
	}
}

/* A slot for a client of another worker: as a server of its pool, if it can be. */
static bool release_make_room(struct limit_share *s, struct pool_server *ps)
{
	struct server *const victim = server_of(ps);
	unsigned to;

	if (limit_goes_to_part(s, ps, &to) && server_may_leave(victim) &&
	    server_depart(victim, to))
		return false;
	server_close(victim, CLOSE_EVICTED);
	return true;
}

/* Clients of other workers wait longer for what is free here. */
static void yield(struct sessions *ss, struct limit_share *s)
{
	struct pool_server *ps;

	if (s->kind == LIMIT_POOL)
		broker_give_idle(container_of(s, struct pool, share));
	while ((ps = limit_yield(s, ss->catalog, time_now())) != NULL &&
	    release_make_room(s, ps))
		continue;
	limit_pass_on(s);
}

void broker_called(struct sessions *ss, struct limit_share *s)
{
	struct pool *const p = limit_tell(s, ss->catalog, time_now());

	if (p != NULL)
		broker_touch(ss, p);
	yield(ss, s);
}

bool broker_is_rival_first(struct sessions *ss, const struct pool *p)
{
	if (!limit_is_rival_first(p))
		return false;
	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct limit_share *const s = limit_share_of(p,
		    (enum limit_kind)kind);

		if (s->ledger != NULL)
			yield(ss, s);
	}
	return true;
}

void broker_ask_others(struct sessions *ss, struct pool *p)
{
	if (limit_ask(p, ss->catalog, time_now()))
		broker_touch(ss, p);
}

void broker_join_limits(struct sessions *ss, struct pool *p)
{
	limit_join(p);
	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct limit_share *const s = limit_share_of(p,
		    (enum limit_kind)kind);

		if (s->ledger == NULL || !limit_is_limited(p, s->kind))
			continue;
		if (ledger_wants(s->ledger) != 0)
			(void)limit_tell(s, ss->catalog, time_now());
		yield(ss, s);
	}
}
