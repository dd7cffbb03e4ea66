/* listener_bring.c - a server is to know what its client listens to.
 *
 * Then PostgreSQL tells what an UNLISTEN leaves, or what a ROLLBACK brings back.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener.h"
#include "notify/listener_parts.h"
#include "proto/msg.h"
#include "proto/track_look.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

/* May a transaction that begins, or goes on, here have (UN)LISTEN? */
static bool may_listen(const struct listener_request *r)
{
	struct listening *const g = r->c->listening;

	if (strchr("QPB", r->m[0]) == NULL)
		return false;
	if (g->always || r->s->ps.pool->limits.state_always ||
	    !keep_is_on(r->s->ps.pool))
		return true;
	if (!(r->m[0] != FE_BIND && r->have < r->size) &&
	    !listener_has(r->m, r->have, "listen"))
		return false;
	/* a statement that has a name may be run at any time */
	g->always = r->m[0] == FE_BIND || (r->m[0] == FE_PARSE &&
	    r->have > MSG_HEADER && r->m[MSG_HEADER] != '\0');
	return true;
}

static bool is_brought(const struct keep *k)
{
	return k->brought != BROUGHT_NOTHING && !k->undone;
}

static int send_all(struct client *c, struct server *s)
{
	struct keep *const k = &s->keep;
	const struct subscription *it;
	struct writer sql;
	char set[80];

	writer_init(&sql, LISTENER_SQL);
	if (s->track.status != 'T')
		listener_text(&sql, KEEP_BEGIN);
	DL_FOREACH2(c->listening->own, it, own_next) {
		if (it->is != TO_GO)
			channels_write(&sql, "LISTEN", it->channel->name);
	}
	k->brought = BROUGHT;
	k->undone = k->confirmed = false;
	if (s->track.status == 'T') {
		k->brought = BROUGHT_INSIDE;
		k->bring = listener_draw(c->listening->listener);
		snprintf(set, sizeof set, "SET " KEEP_BRING " = %u", k->bring);
		listener_text(&sql, set);
	}
	keep_set_pins(s, k->pins | PIN_LISTEN);
	s->trace.marked = true;
	return listener_ask(s, &sql, OWN_QUERY_BRING);
}

/* Something was undone in the transaction: that, too? */
static int ask_again(struct server *s)
{
	struct writer sql;

	s->keep.confirmed = false;
	s->keep.brought = BROUGHT_ASKED;
	writer_init(&sql, LISTENER_SQL);
	listener_text(&sql, KEEP_BRINGS);
	return listener_ask(s, &sql, OWN_QUERY_BRING);
}

static void start(struct client *c, struct server *s)
{
	stream_pause(&c->stream);
	if (s->keep.brought == BROUGHT_INSIDE)
		(void)ask_again(s);
	else
		(void)send_all(c, s);
}

/* Amid a batch, COPY or failed transaction there is no place for it. */
static bool has_place(const struct track *t)
{
	return t->status != 'E' && !track_wants_data(t) &&
	    !track_is_unsure(t) &&
	    (track_is_empty(t) ? t->ready :
	    track_awaits_ready(t) && !track_may_be_skipped(t));
}

/* Is it behind a request that may have (UN)LISTEN, and has no answer yet? */
static bool is_behind(const struct server *s)
{
	return s->trace.listens && !track_is_empty(&s->track) &&
	    track_awaits_ready(&s->track);
}

/*
 * Where both tell the mark is not reached yet. Nobody withholds the end of an
 * UNLISTEN in session pooling: what is ahead of the mark would come behind it.
 */
static void await_mark(struct client *c, const struct server *s)
{
	if (!track_is_empty(&s->track)) {
		c->relay.hold = true;
		return;
	}
	stream_pause(&c->stream);
	if (!listener_is_unsettled(c))
		listener_ask_again(c->listening);
}

/*
 * The pool is one of sessions by now: all comes from the server of c, which
 * stays with it. False: not now, or s is closed.
 */
static bool stays(struct client *c, struct server *s)
{
	struct listening *const g = c->listening;
	const bool lost = channels_source(g) == HEARS_NOBODY;

	if (!has_place(&s->track))
		return true;
	if (g->token != 0 || listener_is_unsettled(c)) {
		await_mark(c, s);
		return false;
	}
	if (channels_source(g) == HEARS_SERVER) {
		if (g->waiting.len == 0)
			channels_leave(c);
		return true;
	}
	if (!track_is_empty(&s->track)) {
		c->relay.hold = true;
		return false;
	}
	stream_pause(&c->stream);
	if (listener_send_mark(g, s, HEARS_SERVER) == 0 && lost)
		listener_hear_server(c);
	return false;
}

bool listener_brings(const struct listener_request *r)
{
	struct server *const s = r->s;

	if (s->ps.mode == POOL_SESSION)
		return stays(r->c, s);
	if (channels_source(r->c->listening) == HEARS_SERVER) {
		/* a pool that keeps looks at the tags */
		s->trace.marked = s->trace.marked ||
		    (!keep_is_on(s->ps.pool) && may_listen(r));
		return true;
	}
	if (is_behind(s)) {
		r->c->relay.hold = true;
		return false;
	}
	const bool listens = may_listen(r);

	s->trace.notifies = s->trace.notifies ||
	    listener_has(r->m, r->have, "notify");
	if (!listens && !listener_has(r->m, r->have, "discard"))
		return true;
	if (listens && !is_brought(&s->keep) && has_place(&s->track)) {
		if (track_is_empty(&s->track))
			start(r->c, s);
		else
			r->c->relay.hold = true;
		return false;
	}
	s->trace.listens = true;
	return true;
}

bool listener_brought(struct client *c, struct server *s)
{
	if (s->keep.brought != BROUGHT_ASKED)
		return true;
	s->keep.brought = BROUGHT_INSIDE;
	s->keep.undone = false;
	if (s->keep.confirmed || c->listening == NULL)
		return true;
	(void)send_all(c, s);
	return false;
}
