/* listener_move.c - moves the channels of a client between its server and the
 * listener.
 *
 * The server that the client has at the moment tells which channels it listens
 * to.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener.h"
#include "notify/listener_parts.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

int listener_send_mark(struct listening *g, struct server *s,
    enum hears becomes)
{
	const struct subscription *it;
	struct writer sql;

	s->keep.marks = true;
	g->token = listener_draw(g->listener);
	g->marks = 0;
	g->becomes = becomes;
	writer_init(&sql, LISTENER_SQL);
	listener_text(&sql, KEEP_BEGIN "SET LOCAL statement_timeout=0;");
	channels_write(&sql, "LISTEN", g->listener->marker);
	if (becomes == HEARS_SERVER)
		DL_FOREACH2(g->own, it, own_next)
			channels_write(&sql, "LISTEN", it->channel->name);
	listener_write_mark(g->listener, g->token, &sql);
	return listener_ask(s, &sql, OWN_QUERY_LISTEN);
}

/*
 * Does the listener send the same bytes as c's server would? This compares the
 * encodings that both had at first, because the welcome is missing after a
 * RECONNECT.
 */
static bool is_same_encoding(const struct client *c, const struct server *s)
{
	const struct welcome *const w = c->pc.pool->welcome;
	const struct params *const set = s->origin.set != NULL ?
	    s->origin.set : w == NULL ? NULL : w->params;
	const char *const own = params_get(c->params, PARAMS_CLIENT_ENCODING);
	const char *const other = set == NULL ? NULL :
	    params_get(set, PARAMS_CLIENT_ENCODING);

	return own != NULL && other != NULL && strcasecmp(own, other) == 0;
}

/* The number of channels in the list that c is not known to listen to. */
static unsigned count_new(const struct client *c, const struct writer *list)
{
	const char *name = (const char *)list->at;
	const char *const end = name + list->len;
	unsigned n = 0;

	for (; name < end; name += strlen(name) + 1)
		n += channels_find(c, name) == NULL;
	return n;
}

/* Does s know every channel that c listens to, or has listened to? */
static bool is_all_known(const struct server *s)
{
	const struct keep *const k = &s->keep;

	return k->discarded || k->brought == BROUGHT ||
	    (k->brought == BROUGHT_INSIDE && (k->confirmed ||
	    (!k->undone && keep_is_on(s->ps.pool))));
}

/* Does c have a prepared statement that may run LISTEN or UNLISTEN? */
static bool has_prepared(const struct client *c)
{
	const struct prepared_name *n;
	unsigned at = 0;

	while ((n = slots_next(c->statements, &at)) != NULL)
		if (listener_has(n->stmt->body, n->stmt->len, "listen"))
			return true;
	return false;
}

/* Returns the number of new channels. Without memory, some are not added. */
static unsigned add_found(struct client *c, const struct writer *found,
    enum subscribed is)
{
	const char *name = (const char *)found->at;
	const char *const end = name + found->len;
	unsigned n = 0;

	for (; name < end; name += strlen(name) + 1)
		if (channels_find(c, name) == NULL)
			n += channels_add(c, name, is) == 0;
	if (c->listening != NULL && has_prepared(c))
		c->listening->always = true;
	return n;
}

void listener_ask_again(struct listening *g)
{
	struct listener *const l = g->listener;

	g->settles = l->to_ask = l->asked + 1;
	l->look = true;
	catalog_touch_pool(g->client->ss->catalog, l->pool);
}

/* The channels are in force with the next answer of the listener. */
static void await_listener(struct listening *g)
{
	g->expects = false;
	listener_ask_again(g);
}

/* Notes the channels that c hears from s itself. */
static void note_own(struct client *c, struct server *s)
{
	struct keep *const k = &s->keep;
	const struct writer *const found = &k->channels;

	(void)channels_retain(c, found->at, found->len);
	if (k->pins == PIN_LISTEN && is_same_encoding(c, s) &&
	    channels_count(c) + count_new(c, found) <= CHANNELS_MAX)
		(void)add_found(c, found, SUBSCRIBED);
	k->surplus = (k->pins & PIN_LISTEN) != 0 && count_new(c, found) > 0;
}

/*
 * c no longer listens to any of its earlier channels, so s can tell it
 * everything. False: the listener continues.
 */
static bool begins_anew(struct client *c, struct server *s)
{
	const struct writer *const found = &s->keep.channels;
	const char *const end = (const char *)found->at + found->len;
	const char *name = (const char *)found->at;

	if (channels_source(c->listening) != HEARS_NOBODY)
		return false;
	for (; name < end; name += strlen(name) + 1)
		if (channels_find(c, name) != NULL)
			return false;
	listener_tell_lost(c);
	if (client_is_open(c))
		note_own(c, s);
	return true;
}

/* Notes the channels that the listener must tell c. */
static void listener_move_note_found(struct client *c, struct server *s,
    bool known)
{
	const struct writer *const found = &s->keep.channels;
	const bool fits = is_same_encoding(c, s) &&
	    channels_count(c) + count_new(c, found) <= CHANNELS_MAX;
	const bool heard = channels_source(c->listening) == HEARS_LISTENER;
	unsigned n = known ? channels_retain(c, found->at, found->len) : 0;

	if (fits && c->listening != NULL)
		n += add_found(c, found, heard ? TO_COME : SUBSCRIBED);
	if (c->listening == NULL)
		return;
	s->keep.surplus = count_new(c, found) > 0;
	if (s->keep.surplus && (!heard || c->listening->token != 0)) {
		channels_settle(c);
		listener_hear_server(c);
	} else if (s->keep.surplus) {
		c->listening->settles = c->listening->listener->asked + 1;
		(void)listener_send_mark(c->listening, s, HEARS_SERVER);
	} else if ((n > 0 || c->listening->expects) && heard) {
		await_listener(c->listening);
	}
	if (n == 0)
		writer_fini(&c->listening->early);
}

/* If another process takes over now, it must ask s again. */
static void keep_in_doubt(const struct client *c, struct server *s)
{
	if (c->relay.withheld != WITHHELD_NOT && listener_is_unsettled(c))
		s->keep.brought = BROUGHT;
}

void listener_note(struct client *c, struct server *s)
{
	struct keep *const k = &s->keep;
	const bool known = is_all_known(s);

	k->brought = BROUGHT_NOTHING;
	k->confirmed = k->undone = k->discarded = false;
	if (c->listening == NULL ||
	    channels_source(c->listening) == HEARS_SERVER)
		note_own(c, s);
	else if (!known || !begins_anew(c, s))
		listener_move_note_found(c, s, known);
	writer_fini(&k->channels);
	if (known)
		keep_in_doubt(c, s);
}

void listener_discarded(struct client *c)
{
	struct listening *const g = c->listening;

	if (g != NULL)
		listener_tell_lost(c);
	if (!client_is_open(c))
		return;
	if (g == NULL || channels_source(g) != HEARS_LISTENER ||
	    channels_retain(c, "", 0) == 0) {
		channels_leave(c);
		return;
	}
	await_listener(g);
	keep_in_doubt(c, server_of(c->pc.server));
}

void listener_expect(struct client *c, const struct server *s)
{
	if (c->listening != NULL && c->relay.withheld == WITHHELD)
		c->listening->expects = s->trace.notifies;
}

void listener_await(struct client *c)
{
	struct listening *const g = c->listening;

	if (g != NULL && g->expects && !listener_is_unsettled(c) &&
	    channels_source(g) == HEARS_LISTENER)
		await_listener(g);
}

bool listener_is_unsettled(const struct client *c)
{
	return c->listening != NULL && c->listening->settles != 0;
}

bool listener_withholds(const struct client *c, const struct server *s)
{
	const struct listening *const g = c->listening;

	return g != NULL && channels_source(g) != HEARS_SERVER &&
	    s->ps.mode != POOL_SESSION &&
	    (s->trace.listens || s->trace.notifies ||
	    s->keep.brought != BROUGHT_NOTHING);
}

/* Is s idle, and has it sent everything? */
static bool listener_move_is_at_rest(const struct client *c,
    const struct server *s)
{
	return s->own_query == OWN_QUERY_NONE && track_is_done(&s->track) &&
	    s->rest.bytes == 0 && s->carry.len == 0 &&
	    !rest_passes(&c->rest) && !trace_is_any(&s->trace) &&
	    !stream_is_suspended(&c->stream) &&
	    s->ps.mode != POOL_SESSION;
}

/* Does the listener hear every channel that c hears from its server? */
static bool listener_move_is_heard(const struct listening *g)
{
	const struct listener *const l = g->listener;
	const struct subscription *it;

	DL_FOREACH2(g->own, it, own_next) {
		if ((it->channel->listened & (uint8_t)~it->channel->asked &
		    l->ear) == 0)
			return false;
	}
	return l->server != NULL && (l->marked & l->ear) != 0;
}

/* From here on, the listener tells c everything. */
static int send_unlisten(struct server *s)
{
	struct writer sql;

	s->keep.leaves = true;
	writer_init(&sql, LISTENER_SQL);
	listener_text(&sql, KEEP_BEGIN "SET LOCAL statement_timeout=0;"
	    "UNLISTEN *;DISCARD SEQUENCES");
	return listener_ask(s, &sql, OWN_QUERY_LISTEN);
}

bool listener_move(struct client *c, struct server *s)
{
	struct listening *const g = c->listening;
	const bool own = g != NULL && channels_source(g) == HEARS_SERVER;

	if (s->keep.pins != PIN_LISTEN || s->keep.surplus ||
	    listener_is_unsettled(c) || !listener_move_is_at_rest(c, s))
		return false;
	if (own && (g->token != 0 || !listener_move_is_heard(g)))
		return false;
	stream_pause(&c->stream);
	if (own)
		(void)listener_send_mark(g, s, HEARS_LISTENER);
	else
		(void)send_unlisten(s);
	return true;
}

bool listener_moved(struct client *c, struct server *s)
{
	const bool own = c->listening != NULL &&
	    channels_source(c->listening) == HEARS_SERVER;

	if (!s->keep.leaves && !own) {
		(void)send_unlisten(s);
		return false;
	}
	if (s->keep.leaves) {
		keep_set_pins(s, 0);
		s->keep.drawn = false;
	}
	s->keep.leaves = false;
	server_set_own_query(s, OWN_QUERY_NONE);
	return true;
}

/*
 * Then PostgreSQL knows what an UNLISTEN leaves, and what a ROLLBACK restores.
 */

/*
 * May the request run LISTEN or UNLISTEN, in a transaction that begins or
 * continues here?
 */
static bool listener_move_may_listen(const struct listener_request *r)
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
	/* a named statement may run at any time */
	g->always = r->m[0] == FE_BIND || (r->m[0] == FE_PARSE &&
	    r->have > MSG_HEADER && r->m[MSG_HEADER] != '\0');
	return true;
}

static bool is_brought(const struct keep *k)
{
	return k->brought != BROUGHT_NOTHING && !k->undone;
}

static int listener_move_send_all(struct client *c, struct server *s)
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

/*
 * Something was undone in the transaction, perhaps the channels. Asks for that.
 */
static int listener_move_ask_again(struct server *s)
{
	struct writer sql;

	s->keep.confirmed = false;
	s->keep.brought = BROUGHT_ASKED;
	writer_init(&sql, LISTENER_SQL);
	listener_text(&sql, KEEP_BRINGS);
	return listener_ask(s, &sql, OWN_QUERY_BRING);
}

static void listener_move_start(struct client *c, struct server *s)
{
	stream_pause(&c->stream);
	if (s->keep.brought == BROUGHT_INSIDE)
		(void)listener_move_ask_again(s);
	else
		(void)listener_move_send_all(c, s);
}

/*
 * An own query cannot be sent in the middle of a batch, a COPY or a failed
 * transaction.
 */
static bool has_place(const struct track *t)
{
	return t->status != 'E' && !track_wants_data(t) &&
	    !track_is_unsure(t) &&
	    (track_is_empty(t) ? t->ready :
	    track_awaits_ready(t) && !track_may_be_skipped(t));
}

/*
 * Is a request ahead of it that may run LISTEN or UNLISTEN, and has no answer
 * yet?
 */
static bool listener_move_is_behind(const struct server *s)
{
	return s->trace.listens && !track_is_empty(&s->track) &&
	    track_awaits_ready(&s->track);
}

/*
 * The mark has not been reached in both streams yet. In session pooling, the
 * end of an UNLISTEN is not withheld: notifications before the mark would come
 * after it.
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
 * The pool is in session mode now, so c keeps s, and s tells it everything.
 * False: not now, or s is closed.
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
		/* a pool with keep also looks at the tags */
		s->trace.marked = s->trace.marked ||
		    (!keep_is_on(s->ps.pool) && listener_move_may_listen(r));
		return true;
	}
	if (listener_move_is_behind(s)) {
		r->c->relay.hold = true;
		return false;
	}
	const bool listens = listener_move_may_listen(r);

	s->trace.notifies = s->trace.notifies ||
	    listener_has(r->m, r->have, "notify");
	if (!listens && !listener_has(r->m, r->have, "discard"))
		return true;
	if (listens && !is_brought(&s->keep) && has_place(&s->track)) {
		if (track_is_empty(&s->track))
			listener_move_start(r->c, s);
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
	(void)listener_move_send_all(c, s);
	return false;
}
