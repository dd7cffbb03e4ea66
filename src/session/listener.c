/* listener.c - the connection that listens for all clients of a pool.
 * SPDX-License-Identifier: ISC */
#include "session/listener.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/errcodes.h"
#include "base/num.h"
#include "pool/catalog.h"
#include "pool/drain.h"
#include "pool/limit.h"
#include "proto/msg.h"
#include "proto/report.h"
#include "session/channels.h"
#include "session/channels_send.h"
#include "session/client.h"
#include "session/server.h"
#include "session/server_launch.h"
#include "session/sessions.h"

#define SQL_BYTES (1 << 18)	/* of one query, well below what may be sent */
#define CHANGES_MAX 500		/* in one query */

/* --- what it listens to --- */

static void write_text(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

/* Returns false when there is nothing to change. */
static bool write_changes(struct listener *l, struct writer *w)
{
	unsigned n = 0;

	write_text(w, KEEP_BEGIN);
	if (!l->marked)
		channels_write(w, "LISTEN", l->marker);
	for (struct channel *ch = l->channels; ch != NULL && n < CHANGES_MAX;
	    ch = ch->hh.next) {
		if ((ch->first != NULL) == ch->listened)
			continue;
		ch->asked = true;
		channels_write(w, ch->listened ? "UNLISTEN" : "LISTEN",
		    ch->name);
		n++;
	}
	writer_u8(w, 0);
	return n > 0 || !l->marked;
}

static void synchronize(struct listener *l)
{
	struct server *const s = l->server;
	struct writer sql;

	writer_init(&sql, SQL_BYTES);
	const bool needed = write_changes(l, &sql);

	if (sql.failed)
		server_fail(s, CLOSE_OUT_OF_MEMORY);
	else if (needed)
		(void)server_send_query(s, (const char *)sql.at, CHORE_LISTEN);
	writer_fini(&sql);
}

/* --- the connection --- */

static bool may_launch(struct sessions *ss, const struct pool *p)
{
	const usec_t now = time_now();

	return !ss->suspended && !pool_is_paused(p, ss->catalog) &&
	    !drain_stops(ss->catalog, p, now) && pool_may_retry(p, now);
}

/* If it fails at once, the clients may go, and the listener with them. */
static void launch(struct sessions *ss, struct pool *p)
{
	struct server *const s = server_launch_listener(ss, p);

	if (p->hearing.listener != NULL)
		p->hearing.listener->server = s;
	else if (s != NULL)
		server_close(s, CLOSE_SERVER_IDLE_TIMEOUT);
}

/* Nobody has listened for as long as a server may be idle. */
static void close_unused(struct listener *l)
{
	struct pool *const p = l->pool;
	const usec_t now = time_now();

	if (l->clients != NULL) {
		p->hearing.idle_since = 0;
		return;
	}
	if (p->hearing.idle_since == 0)
		p->hearing.idle_since = now;
	if (p->limits.idle_timeout > 0 &&
	    now - p->hearing.idle_since > p->limits.idle_timeout)
		server_close(l->server, CLOSE_SERVER_IDLE_TIMEOUT);
}

static void resume_all(struct listener *l);

void listener_turn(struct sessions *ss, struct pool *p)
{
	struct listener *const l = p->hearing.listener;
	bool reserve;

	if (l != NULL)
		resume_all(l);
	p->hearing.wanted = p->hearing.listener != NULL && l->server == NULL;
	if (p->hearing.listener == NULL)
		return;
	if (p->hearing.wanted) {
		if (may_launch(ss, p) && server_launch_room(p, NULL, &reserve))
			launch(ss, p);
		return;
	}
	if (l->server->phase != SERVER_PHASE_POOLED ||
	    l->server->chore != CHORE_NONE || ss->suspended)
		return;
	synchronize(l);
	if (p->hearing.listener == l && l->server != NULL &&
	    l->server->chore == CHORE_NONE)
		close_unused(l);
}

void listener_ready(struct server *s)
{
	catalog_touch_pool(s->ss->catalog, s->ps.pool);
}

/* --- what was lost, and is there again --- */

/* c may have missed something. May close c. */
static void tell_reconnected(struct client *c, const struct server *s)
{
	struct writer w;

	writer_init(&w, SQL_BYTES);
	report_write(&w, BE_NOTICE_RESPONSE, &(struct report){ "NOTICE",
	    ERRCODE_SUCCESSFUL_COMPLETION, "the connection that listens was "
	    "replaced: notifications may have been lost", "", "" });
	writer_begin(&w, BE_NOTIFICATION_RESPONSE);
	writer_u32(&w, s->key_len >= 4 ? msg_u32(s->key) : 0);
	writer_str(&w, CHANNELS_RECONNECTED);
	writer_str(&w, "");
	writer_end(&w);
	channels_send(c, w.at, w.failed ? 0 : w.len);
	writer_fini(&w);
}

/* Does the listener hear all of what g has lost? */
static bool is_heard_again(const struct listening *g)
{
	const struct subscription *it;
	bool any = false;

	DL_FOREACH2(g->own, it, own_next) {
		if (it->from != FROM_NOBODY)
			continue;
		if (!it->channel->listened)
			return false;
		any = true;
	}
	return any;
}

static void restore(struct listening *g, const struct server *s)
{
	struct subscription *it;

	if (!is_heard_again(g))
		return;
	DL_FOREACH2(g->own, it, own_next) {
		if (it->from == FROM_NOBODY)
			it->from = FROM_LISTENER;
	}
	tell_reconnected(g->client, s);
}

static void note_changes(struct listener *l)
{
	for (struct channel *ch = l->channels; ch != NULL; ch = ch->hh.next) {
		ch->listened = ch->listened != ch->asked;
		ch->asked = false;
	}
	l->marked = true;
}

void listener_answered(struct server *s)
{
	struct listener *const l = s->ps.pool->hearing.listener;
	struct listening *g, *next;

	timeout_stop(&s->timer);
	s->chore = CHORE_NONE;
	note_changes(l);
	DL_FOREACH_SAFE(l->clients, g, next) {
		struct client *const c = g->client;

		restore(g, s);
		if (c->listening == g && c->pc.server != NULL)
			(void)listener_move(c, server_of(c->pc.server));
	}
	channels_tidy(l);	/* but not l, as s is there */
	catalog_touch_pool(s->ss->catalog, s->ps.pool);
}

/* Whatever was not from the server of the client alone. */
static void lose(struct listening *g)
{
	struct subscription *it;

	DL_FOREACH2(g->own, it, own_next) {
		if (it->from != FROM_SERVER)
			it->from = FROM_NOBODY;
	}
	if (g->token == 0)
		return;
	g->marks |= MARK_LISTENER;
	channels_end_move(g->client);
}

void listener_gone(struct server *s)
{
	struct pool *const p = s->ps.pool;
	struct listener *const l = p->hearing.listener;
	struct listening *g, *next;

	if (l == NULL || l->server != s)
		return;
	l->server = NULL;
	l->marked = false;
	p->hearing.idle_since = 0;
	for (struct channel *ch = l->channels; ch != NULL; ch = ch->hh.next)
		ch->listened = ch->asked = false;
	DL_FOREACH_SAFE(l->clients, g, next)
		lose(g);
	/* a client that was closed may have been the last: l is gone, too */
	if (p->hearing.listener != NULL) {
		catalog_touch_pool(s->ss->catalog, p);
		channels_tidy(p->hearing.listener);
	}
}

/* --- notifications --- */

/* What has waited for a move may go on. May close its client. */
static void go_on(struct listening *g)
{
	struct client *const c = g->client;

	channels_flush(c);
	if (c->listening == g && g->token == 0 && c->pc.server != NULL)
		(void)listener_move(c, server_of(c->pc.server));
	if (c->listening != g || !g->waits || g->token != 0)
		return;
	g->waits = false;
	c->role->go_on(c);
}

static void resume_all(struct listener *l)
{
	struct listening *g, *next;

	DL_FOREACH_SAFE(l->clients, g, next) {
		if (g->waits && g->token == 0)
			go_on(g);
	}
}

static void take_mark(struct listener *l, const char *payload)
{
	struct listening *g;
	uint32_t token;

	if (num_parse_u32(payload, &token) < 0 || token == 0)
		return;
	DL_SEARCH_SCALAR(l->clients, g, token, token);
	if (g == NULL)
		return;
	struct client *const c = g->client;

	g->marks |= MARK_LISTENER;
	channels_end_move(c);
	if (c->listening == g)
		go_on(g);
}

static void tell(struct subscription *it, const uint8_t *m, size_t size)
{
	const struct listening *const g = it->by;
	const bool past = (g->marks & MARK_LISTENER) != 0;

	if (it->from != FROM_LISTENER && (it->from != TO_SERVER || past) &&
	    (it->from != TO_LISTENER || !past))
		return;
	/* what is past the mark comes behind all that the other one tells */
	if (past)
		channels_keep(g->client, m, size);
	else
		channels_send(g->client, m, size);
}

void listener_take(struct server *s, const uint8_t *m, size_t size)
{
	struct listener *const l = s->ps.pool->hearing.listener;
	struct subscription *it, *next;
	struct channel *ch = NULL;
	struct notification n;

	if (!channels_parse(m, size, &n))
		return;
	if (strcmp(n.channel, l->marker) == 0) {
		take_mark(l, n.payload);
		return;
	}
	HASH_FIND(hh, l->channels, n.channel, strlen(n.channel), ch);
	if (ch == NULL)
		return;
	DL_FOREACH_SAFE(ch->first, it, next)
		tell(it, m, size);
}

/* --- from the server of a client --- */

static void take_own_mark(struct client *c, const struct notification *n)
{
	struct listening *const g = c->listening;
	uint32_t token;

	if (g == NULL || strcmp(n->channel, g->listener->marker) != 0 ||
	    num_parse_u32(n->payload, &token) < 0)
		return;
	if (token == server_of(c->pc.server)->keep.bring)
		server_of(c->pc.server)->keep.confirmed = true;
	if (token != g->token)
		return;
	if (g->to_server)
		channels_drop_early(c);
	g->marks |= MARK_SERVER;
	channels_end_move(c);
	if (g->waits)
		catalog_touch_pool(c->ss->catalog, g->listener->pool);
}

/* NULL: what it is, is not known yet. What a server tells of a channel ahead of
 * the mark by which it is to tell of it is sorted out when that comes. */
static bool is_from_server(const struct listening *g,
    const struct subscription *it)
{
	return it == NULL || it->from == FROM_SERVER ||
	    it->from == FROM_NOBODY || it->from == TO_SERVER ||
	    (it->from == TO_LISTENER && (g->marks & MARK_SERVER) == 0);
}

bool listener_passes(struct client *c, const uint8_t *m, size_t size)
{
	struct listening *const g = c->listening;
	struct notification n;

	if (!channels_parse(m, size, &n))
		return true;
	if (channels_is_marker(n.channel)) {
		take_own_mark(c, &n);
		return false;
	}
	if (g == NULL)
		return true;
	if (!is_from_server(g, channels_find(c, n.channel)))
		return false;
	if (g->token == 0 || !g->to_server)
		return true;
	channels_keep(c, m, size);
	return false;
}
