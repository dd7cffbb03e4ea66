/* listener_move.c - channels of a client: from its server to the listener.
 *
 * And back, for as long as PostgreSQL is to tell which of them are left.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/track_look.h"
#include "session/channels.h"
#include "session/channels_send.h"
#include "session/client.h"
#include "session/listener.h"
#include "session/server.h"
#include "session/sessions.h"

#define SQL_BYTES (1 << 18)

/* sql is complete. 0 or -1 (s is closed). */
static int ask(struct server *s, struct writer *sql, enum server_chore chore)
{
	int rc = -1;

	writer_u8(sql, 0);
	if (sql->failed)
		server_fail(s, CLOSE_OUT_OF_MEMORY);
	else
		rc = server_send_query(s, (const char *)sql->at, chore);
	writer_fini(sql);
	return rc;
}

static void write_text(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

/* --- what the probe has found --- */

/* Would the listener be told the same names and payloads as c? */
static bool is_same_encoding(const struct client *c)
{
	const struct welcome *const w = c->pc.pool->welcome;
	const char *const own = params_get(c->params, PARAMS_CLIENT_ENCODING);
	const char *const other = w == NULL ? NULL :
	    params_get(w->params, PARAMS_CLIENT_ENCODING);

	return own != NULL && other != NULL && strcasecmp(own, other) == 0;
}

/* How many of the list c is not known to listen to. */
static unsigned count_new(const struct client *c, const struct writer *list)
{
	const char *name = (const char *)list->at;
	const char *const end = name + list->len;
	unsigned n = 0;

	for (; name < end; name += strlen(name) + 1)
		n += channels_find(c, name) == NULL;
	return n;
}

/* Does s know all that c listens to, or has listened to? */
static bool is_all_known(const struct keep *k)
{
	return k->discarded || k->brought == BROUGHT ||
	    (k->brought == BROUGHT_INSIDE && (k->confirmed || !k->undone));
}

/* What was brought to s was undone: all is as before. */
static void take_back(struct client *c)
{
	struct subscription *it;

	DL_FOREACH2(c->listening->own, it, own_next) {
		if (it->from == TO_SERVER)
			it->from = FROM_LISTENER;
	}
	c->listening->marks = MARK_BOTH;
	channels_end_move(c);
}

/* An UNLISTEN * of the client has taken the mark away: it never comes. */
static void miss_mark(struct client *c, const struct keep *k)
{
	struct listening *const g = c->listening;

	if (g == NULL || g->token == 0 || !g->to_server || k->hears_mark)
		return;
	g->marks |= MARK_SERVER;
	channels_end_move(c);
}

static bool has_word(const uint8_t *p, size_t n)
{
	static const char word[] = "listen";
	const size_t len = sizeof word - 1;

	for (size_t i = 0; i + len <= n; i++)
		if ((p[i] | 0x20) == 'l' &&
		    strncasecmp((const char *)p + i, word, len) == 0)
			return true;
	return false;
}

/* Has c prepared a statement with which it may say (UN)LISTEN at any time? */
static bool has_prepared(const struct client *c)
{
	const struct prepared_name *n;
	unsigned at = 0;

	while ((n = slots_next(c->statements, &at)) != NULL)
		if (has_word(n->stmt->body, n->stmt->len))
			return true;
	return false;
}

/* What is new is told by s for the time being. */
static void add_found(struct client *c, const struct writer *found)
{
	const char *name = (const char *)found->at;
	const char *const end = name + found->len;

	for (; name < end; name += strlen(name) + 1)
		if (channels_find(c, name) == NULL)
			(void)channels_add(c, name, FROM_SERVER);
	if (c->listening != NULL && has_prepared(c))
		c->listening->always = true;
}

void listener_note(struct client *c, struct server *s)
{
	struct keep *const k = &s->keep;
	struct writer *const found = &k->channels;

	if (is_all_known(k))
		channels_retain(c, found->at, found->len);
	else if (k->brought == BROUGHT_INSIDE && c->listening != NULL)
		take_back(c);
	miss_mark(c, k);
	if (k->pins == PIN_LISTEN && is_same_encoding(c) &&
	    channels_count(c) + count_new(c, found) <= CHANNELS_MAX)
		add_found(c, found);
	k->surplus = (k->pins & PIN_LISTEN) != 0 && count_new(c, found) > 0;
	k->brought = BROUGHT_NOTHING;
	k->confirmed = k->undone = k->discarded = false;
	writer_fini(found);
}

/* --- to the listener --- */

/* Is s idle, and all that it has to say said? */
static bool is_at_rest(const struct client *c, const struct server *s)
{
	return s->chore == CHORE_NONE && track_is_done(&s->track) &&
	    s->rest.bytes == 0 && s->carry.len == 0 &&
	    !rest_passes(&c->rest) && !trace_is_any(&s->trace) &&
	    !stream_is_suspended(&c->stream) &&
	    s->ps.mode != POOL_SESSION;
}

enum heard { HEARD_ALL, HEARD_SOME, HEARD_NOT_YET };

/* Does the listener hear what c has from its server? */
static enum heard how_heard(const struct listening *g)
{
	const struct subscription *it;
	enum heard is = HEARD_ALL;

	DL_FOREACH2(g->own, it, own_next) {
		if (it->from == FROM_SERVER && !it->channel->listened)
			return HEARD_NOT_YET;
		if (it->from == FROM_SERVER)
			is = HEARD_SOME;
		if (it->from == TO_SERVER)
			return HEARD_NOT_YET;
	}
	return is;
}

/*
 * The streams meet there. What comes from one (is) is to come from the other
 * (becomes) from then on.
 */
static void write_mark(struct listening *g, struct writer *sql)
{
	struct listener *const l = g->listener;
	char payload[32];

	do
		g->token = ++l->last_token;
	while (g->token == 0);
	g->marks = 0;
	snprintf(payload, sizeof payload, ",'%u';", g->token);
	channels_write(sql, "LISTEN", l->marker);
	channels_write(sql, "NOTIFY", l->marker);
	sql->len--;		/* the semicolon */
	write_text(sql, payload);
}

static void change(struct listening *g, enum channel_from is,
    enum channel_from becomes)
{
	struct subscription *it;

	DL_FOREACH2(g->own, it, own_next) {
		if (it->from == is)
			it->from = becomes;
	}
}

static int send_mark(struct listening *g, struct server *s)
{
	struct writer sql;

	writer_init(&sql, SQL_BYTES);
	write_text(&sql, KEEP_BEGIN "SET LOCAL statement_timeout=0;");
	g->to_server = false;
	write_mark(g, &sql);
	change(g, FROM_SERVER, TO_LISTENER);
	return ask(s, &sql, CHORE_LISTEN);
}

/* All comes from the listener from here on. */
static int send_unlisten(struct server *s)
{
	struct writer sql;

	s->keep.leaves = true;
	writer_init(&sql, SQL_BYTES);
	write_text(&sql, KEEP_BEGIN "SET LOCAL statement_timeout=0;"
	    "UNLISTEN *;DISCARD SEQUENCES");
	return ask(s, &sql, CHORE_LISTEN);
}

bool listener_move(struct client *c, struct server *s)
{
	struct listening *const g = c->listening;

	if (s->keep.pins != PIN_LISTEN || s->keep.surplus ||
	    !is_at_rest(c, s))
		return false;
	const enum heard heard = g == NULL ? HEARD_ALL : how_heard(g);

	if (heard == HEARD_NOT_YET || (heard == HEARD_SOME &&
	    (g->listener->server == NULL || g->token != 0)))
		return false;
	stream_pause(&c->stream);
	if (heard == HEARD_SOME)
		(void)send_mark(g, s);
	else
		(void)send_unlisten(s);
	return true;
}

bool listener_moved(struct client *c, struct server *s)
{
	(void)c;
	if (!s->keep.leaves) {
		(void)send_unlisten(s);
		return false;
	}
	s->keep.leaves = false;
	keep_set_pins(s, 0);
	s->chore = CHORE_NONE;
	timeout_stop(&s->timer);
	return true;
}

/* --- to the server --- */

/* May a transaction that begins, or goes on, here have (UN)LISTEN? */
static bool may_listen(const struct listener_request *r)
{
	struct listening *const g = r->c->listening;

	if (strchr("QPB", r->m[0]) == NULL)
		return false;
	if (g->always || r->s->ps.pool->limits.state_always)
		return true;
	if (!(r->m[0] != FE_BIND && r->have < r->size) &&
	    !has_word(r->m, r->have))
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
	struct listening *const g = c->listening;
	const struct subscription *it;
	struct writer sql;
	char mark[80];

	writer_init(&sql, SQL_BYTES);
	if (s->track.status != 'T')
		write_text(&sql, KEEP_BEGIN);
	DL_FOREACH2(g->own, it, own_next)
		channels_write(&sql, "LISTEN", it->channel->name);
	g->to_server = true;
	write_mark(g, &sql);
	change(g, FROM_LISTENER, TO_SERVER);
	s->keep.bring = g->token;
	g->marks = 0;
	if (!g->listener->marked)
		g->token = 0;
	s->keep.brought = BROUGHT;
	s->keep.undone = s->keep.confirmed = false;
	if (s->track.status == 'T') {
		s->keep.brought = BROUGHT_INSIDE;
		snprintf(mark, sizeof mark, "SET " KEEP_BRING " = %u",
		    s->keep.bring);
		write_text(&sql, mark);
	}
	keep_set_pins(s, s->keep.pins | PIN_LISTEN);
	s->trace.marked = true;
	return ask(s, &sql, CHORE_BRING);
}

/* Something was undone in the transaction: that, too? */
static int ask_again(struct server *s)
{
	struct writer sql;

	s->keep.confirmed = false;
	s->keep.brought = BROUGHT_ASKED;
	writer_init(&sql, SQL_BYTES);
	write_text(&sql, KEEP_BRINGS);
	return ask(s, &sql, CHORE_BRING);
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
	    (track_is_empty(t) ? t->ready : track_awaits_ready(t));
}

bool listener_brings(const struct listener_request *r)
{
	struct server *const s = r->s;

	if (!keep_is_on(s->ps.pool) || is_brought(&s->keep) ||
	    !has_place(&s->track) || !may_listen(r))
		return true;
	if (!track_is_empty(&s->track))
		r->c->relay.hold = true;
	else if (r->c->listening->token != 0 &&
	    s->keep.brought == BROUGHT_NOTHING)
		r->c->listening->waits = true;
	else
		start(r->c, s);
	return false;
}

bool listener_brought(struct client *c, struct server *s)
{
	if (s->keep.brought != BROUGHT_ASKED)
		return true;
	s->keep.brought = BROUGHT_INSIDE;
	s->keep.undone = false;
	if (s->keep.confirmed || c->listening == NULL)
		return true;
	take_back(c);
	(void)send_all(c, s);
	return false;
}
