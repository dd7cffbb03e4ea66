/* listener.c - the connection that listens for all clients of a pool.
 * SPDX-License-Identifier: ISC */
#include "notify/listener.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#include "base/err.h"
#include "base/num.h"
#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener_parts.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "pool/limit.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_launch.h"

void listener_text(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

int listener_ask(struct server *s, struct writer *sql, enum own_query query)
{
	int rc = -1;

	writer_u8(sql, 0);
	if (sql->failed)
		server_fail(s, CLOSE_OUT_OF_MEMORY);
	else
		rc = server_send_query(s, (const char *)sql->at, query);
	writer_fini(sql);
	return rc;
}

uint32_t listener_draw(struct listener *l)
{
	l->last_token++;
	return l->last_token != 0 ? l->last_token : ++l->last_token;
}

void listener_write_mark(const struct listener *l, uint32_t mark,
    struct writer *w)
{
	char payload[32];

	snprintf(payload, sizeof payload, ",'%u'", mark);
	channels_write(w, "NOTIFY", l->marker);
	w->len--;		/* the semicolon */
	listener_text(w, payload);
}

bool listener_has(const uint8_t *p, size_t n, const char *word)
{
	const size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if ((p[i] | 0x20) == word[0] &&
		    strncasecmp((const char *)p + i, word, len) == 0)
			return true;
	return false;
}

#define CHANGES_MAX 500		/* in one query */

uint8_t listener_ear(const struct listener *l, const struct server *s)
{
	return s == l->server ? l->ear : l->ear ^ (EAR_ONE | EAR_OTHER);
}

/* Returns false if nothing has to change. */
static bool write_changes(struct listener *l, uint8_t ear, struct writer *w)
{
	unsigned n = 0;

	listener_text(w, KEEP_BEGIN);
	if ((l->marked & ear) == 0) {
		l->marking |= ear;
		channels_write(w, "LISTEN", l->marker);
	}
	for (struct channel *ch = l->channels; ch != NULL && n < CHANGES_MAX;
	    ch = ch->hh.next) {
		const bool listens = (ch->listened & ear) != 0;

		if ((ch->first != NULL) == listens)
			continue;
		ch->asked |= ear;
		channels_write(w, listens ? "UNLISTEN" : "LISTEN", ch->name);
		n++;
	}
	return w->failed || n > 0 || (l->marked & ear) == 0;
}

bool listener_synchronize(struct listener *l, struct server *s)
{
	struct writer sql;

	writer_init(&sql, LISTENER_SQL);
	const bool needed = write_changes(l, listener_ear(l, s), &sql) ||
	    (s == l->server && l->to_ask > l->answered);

	if (needed && s == l->server)
		l->asked++;
	if (needed)
		(void)listener_ask(s, &sql, OWN_QUERY_LISTEN);
	writer_fini(&sql);
	return needed;
}

static void note_changes(struct listener *l, uint8_t ear)
{
	for (struct channel *ch = l->channels; ch != NULL; ch = ch->hh.next) {
		ch->listened ^= ch->asked & ear;
		ch->asked &= (uint8_t)~ear;
	}
	l->marked |= l->marking & ear;
	l->marking &= (uint8_t)~ear;
}

void listener_forget_ear(struct listener *l, uint8_t ear)
{
	for (struct channel *ch = l->channels; ch != NULL; ch = ch->hh.next) {
		ch->listened &= (uint8_t)~ear;
		ch->asked &= (uint8_t)~ear;
	}
	l->marked &= (uint8_t)~ear;
	l->marking &= (uint8_t)~ear;
}

/* Are all channels of the client heard, and none waits? */
static bool listener_is_heard(const struct listening *g)
{
	const struct subscription *it;

	DL_FOREACH2(g->own, it, own_next) {
		if (it->is == TO_COME && (it->channel->listened &
		    (uint8_t)~it->channel->asked & g->listener->ear) == 0)
			return false;
	}
	return true;
}

/* Has the listener told everything that was committed before c's question? */
static bool listener_is_settled(const struct listening *g)
{
	switch (channels_source(g)) {
	case HEARS_SERVER:
		return g->token == 0;
	case HEARS_NOBODY:
		return true;
	case HEARS_LISTENER:
		break;
	}
	return g->settles <= g->listener->answered && listener_is_heard(g);
}

/* May close c. */
static void listener_settle(struct client *c)
{
	if (c->relay.withheld != WITHHELD_NOT && c->pc.server != NULL)
		server_of(c->pc.server)->keep.brought = BROUGHT_NOTHING;
	channels_settle(c);
	channels_tell_early(c);
	if (c->listening->own == NULL)
		listener_tell_lost(c);
	channels_flush(c);
	if (!client_is_open(c))
		return;
	if (c->listening->own == NULL && channels_source(c->listening) !=
	    HEARS_SERVER)
		channels_leave(c);
	c->role->go_on(c);
}

/* A suspended client is settled after the suspension. */
static struct client *find_settled(struct listener *l)
{
	struct listening *g;

	l->look = false;
	DL_FOREACH(l->clients, g) {
		const bool settled = g->settles != 0 && listener_is_settled(g);

		if (settled && !stream_is_suspended(&g->client->stream))
			break;
		l->look = l->look || settled;
	}
	l->look = l->look || g != NULL;
	return g == NULL ? NULL : g->client;
}

static void settle_all(struct pool *p)
{
	struct client *c = NULL;

	do {
		if (c != NULL)
			listener_settle(c);
		c = p->hearing.listener == NULL || !p->hearing.listener->look ?
		    NULL : find_settled(p->hearing.listener);
	} while (c != NULL);
}

static bool may_launch(struct sessions *ss, const struct pool *p)
{
	const usec_t now = time_now();

	return !ss->suspended && !pool_is_paused(p, ss->catalog) &&
	    !drain_stops(ss->catalog, p, now) && pool_may_retry(p, now);
}

/*
 * If the launch fails at once, clients may be closed, and the listener freed.
 */
static void launch(struct sessions *ss, struct pool *p)
{
	struct server *const s = server_launch_listener(ss, p);
	struct listener *const l = p->hearing.listener;

	if (l == NULL && s != NULL)
		server_close(s, CLOSE_SERVER_IDLE_TIMEOUT);
	else if (l != NULL && l->server == NULL)
		l->server = s;
	else if (l != NULL)
		l->next = s;
}

/* The connection has had no clients for server_idle_timeout. */
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

bool listener_is_free(const struct server *s)
{
	return s != NULL && s->phase == SERVER_PHASE_POOLED &&
	    s->own_query == OWN_QUERY_NONE && !stream_is_suspended(&s->stream);
}

static bool listener_is_wanted(const struct listener *l)
{
	return l != NULL && (l->server == NULL ||
	    (l->server->ps.close_needed && l->next == NULL &&
	    l->clients != NULL));
}

void listener_turn(struct sessions *ss, struct pool *p)
{
	struct listener *l;
	bool reserve;

	settle_all(p);
	p->hearing.wanted = listener_is_wanted(p->hearing.listener);
	if (p->hearing.wanted && may_launch(ss, p) &&
	    server_launch_room(p, NULL, &reserve))
		launch(ss, p);
	l = p->hearing.listener;
	if (l == NULL)
		return;
	/*
	 * the connection by which another process heard the client may be gone
	 */
	if (l->server == NULL)
		listener_lose(l);
	else if (listener_replace(l) && listener_is_free(l->server) &&
	    !listener_synchronize(l, l->server))
		close_unused(l);
}

void listener_ready(struct server *s)
{
	catalog_touch_pool(s->ss->catalog, s->ps.pool);
}

bool listener_is_amid(const struct pool *p)
{
	const struct listener *const l = p->hearing.listener;
	const struct listening *g = NULL;

	if (l == NULL)
		return false;
	DL_FOREACH(l->clients, g) {
		if (g->token != 0)
			return true;
	}
	return l->replacing != REPLACING_NOTHING;
}

bool listener_moves(const struct server *s)
{
	const struct listener *const l = s->ps.pool->hearing.listener;

	return l != NULL && l->server == s && l->past == 0;
}

void listener_inherit(struct server *s)
{
	struct listener *const l = channels_get_listener(s->ps.pool);

	if (l == NULL || l->server != NULL)
		server_close(s, CLOSE_OUT_OF_MEMORY);
	else
		l->server = s;
}

void listener_answered(struct server *s)
{
	struct listener *const l = s->ps.pool->hearing.listener;
	struct listening *g, *next;

	server_set_own_query(s, OWN_QUERY_NONE);
	catalog_touch_pool(s->ss->catalog, s->ps.pool);
	if (listener_replace_answered(l, s))
		return;
	note_changes(l, listener_ear(l, s));
	if (s != l->server)
		return;
	l->answered = l->asked;
	l->look = true;
	listener_restore(l);
	DL_FOREACH_SAFE(l->clients, g, next) {
		struct client *const c = g->client;

		if (c->pc.server != NULL)
			(void)listener_move(c, server_of(c->pc.server));
	}
	channels_tidy(l);	/* not l itself, because s is its connection */
}

void listener_gone(struct server *s)
{
	struct pool *const p = s->ps.pool;
	struct listener *const l = p->hearing.listener;

	if (l == NULL || (l->server != s && l->next != s))
		return;
	listener_forget_ear(l, listener_ear(l, s));
	if (l->next == s) {
		l->next = NULL;
		listener_replace_failed(l);
	} else {
		l->server = l->next;
		l->next = NULL;
		l->ear ^= EAR_ONE | EAR_OTHER;
		l->to_ask = l->asked + 1;
		p->hearing.idle_since = 0;
		listener_replace_failed(l);
		listener_lose(l);
	}
	/*
	 * the closed client may have been the last, and the listener may be
	 * freed
	 */
	if (p->hearing.listener != NULL) {
		catalog_touch_pool(s->ss->catalog, p);
		channels_tidy(p->hearing.listener);
	}
}

/*
 * Both connections listen to all channels, and the new one notifies a mark.
 * Until the mark, notifications come from the old one; after it, from the new
 * one. If the old one was asked later and answers without the mark, the two are
 * connected to different servers.
 */

static void tell_ahead(struct listener *l)
{
	struct writer all = l->ahead;
	size_t size;

	writer_init(&l->ahead, CHANNELS_WAITING);
	for (size_t at = 0; at < all.len; at += size) {
		size = msg_size(all.at + at, UINT32_MAX);
		listener_tell(l, all.at + at, size);
	}
	writer_fini(&all);
}

static void listener_stop(struct listener *l)
{
	l->replacing = REPLACING_NOTHING;
	l->past = 0;
}

static void listener_take_over(struct listener *l)
{
	struct server *const old = l->server;
	const bool lost = (l->past & l->ear) == 0 || l->ahead.failed;
	const uint8_t ear = l->ear;

	l->server = l->next;
	l->next = NULL;
	l->ear ^= EAR_ONE | EAR_OTHER;
	listener_stop(l);
	listener_forget_ear(l, ear);
	server_close(old, CLOSE_CONFIGURATION_CHANGED);
	if (lost) {
		listener_lose(l);
		listener_restore(l);
	}
	tell_ahead(l);
}

static void ask(struct listener *l, struct server *s)
{
	struct writer sql;

	writer_init(&sql, LISTENER_SQL);
	listener_text(&sql, KEEP_BEGIN);
	if (s == l->next) {
		l->mark = listener_draw(l);
		listener_write_mark(l, l->mark, &sql);
	}
	l->replacing = s == l->next ? REPLACING_MARKED : REPLACING_ASKED;
	(void)listener_ask(s, &sql, OWN_QUERY_LISTEN);
}

bool listener_replace(struct listener *l)
{
	const uint8_t both = EAR_ONE | EAR_OTHER;

	if (l->replacing == REPLACING_NOTHING) {
		if (listener_is_free(l->next) &&
		    !listener_synchronize(l, l->next) &&
		    l->next != NULL && l->marked == both)
			ask(l, l->next);
	} else if (l->replacing == REPLACING_ANSWERED ||
	    (l->replacing == REPLACING_TOLD && l->past == both)) {
		listener_take_over(l);
	} else if (l->replacing == REPLACING_TOLD &&
	    listener_is_free(l->server)) {
		ask(l, l->server);
	}
	return l->replacing == REPLACING_NOTHING && l->server != NULL;
}

bool listener_replace_answered(struct listener *l, const struct server *s)
{
	if (l->replacing == REPLACING_MARKED && s == l->next)
		l->replacing = REPLACING_TOLD;
	else if (l->replacing == REPLACING_ASKED && s == l->server)
		l->replacing = REPLACING_ANSWERED;
	else
		return false;
	return true;
}

void listener_replace_failed(struct listener *l)
{
	const bool lost = (l->past & l->ear) != 0;

	listener_stop(l);
	writer_fini(&l->ahead);
	if (!lost || l->server == NULL)
		return;
	listener_lose(l);
	l->to_ask = l->asked + 1;
}

/* The connection stays until another one takes its place. */
static void renew(const struct listener *l, struct server *s)
{
	if (s->phase == SERVER_PHASE_POOLED && l->clients != NULL)
		s->ps.close_needed = true;
	else
		server_close(s, CLOSE_CONFIGURATION_CHANGED);
}

void listener_renew(struct pool *p)
{
	if (p->hearing.listener != NULL && p->hearing.listener->next != NULL)
		renew(p->hearing.listener, p->hearing.listener->next);
	if (p->hearing.listener != NULL && p->hearing.listener->server != NULL)
		renew(p->hearing.listener, p->hearing.listener->server);
}

/* Closes c if listen_lost says so. */
static bool close_deaf(struct client *c)
{
	if (c->pc.pool->limits.listen_lost != LISTEN_LOST_CLOSE)
		return false;
	client_fail_cause(c, (struct close_cause){
	    .reason = CLOSE_LISTENER_LOST,
	    .text = close_cause(CLOSE_LISTENER_LOST).text,
	    .code = ERRCODE_ADMIN_SHUTDOWN,
	    .hint = "Notifications may have been lost. Connect again, and check "
	        "what you may have missed." });
	return true;
}

/* Tells c that it may have missed something. May close c. */
static void tell_reconnected(struct client *c, const struct server *s)
{
	struct writer w;

	if (close_deaf(c))
		return;
	writer_init(&w, LISTENER_SQL);
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

/* Does the listener hear all channels that g has lost? */
static bool is_heard_again(const struct listening *g)
{
	const uint8_t ear = g->listener->ear;
	const struct subscription *it;

	if (g->hears != HEARS_NOBODY)
		return false;
	DL_FOREACH2(g->own, it, own_next) {
		if ((it->channel->listened & (uint8_t)~it->channel->asked &
		    ear) == 0)
			return false;
	}
	return true;
}

void listener_restore(struct listener *l)
{
	struct listening *g, *next;

	DL_FOREACH_SAFE(l->clients, g, next) {
		if (!is_heard_again(g))
			continue;
		g->hears = HEARS_LISTENER;
		tell_reconnected(g->client, l->server);
	}
}

void listener_tell_lost(struct client *c)
{
	if (channels_source(c->listening) == HEARS_NOBODY &&
	    c->pc.server != NULL)
		tell_reconnected(c, server_of(c->pc.server));
}

void listener_hear_server(struct client *c)
{
	struct listening *const g = c->listening;

	g->hears = HEARS_SERVER;
	g->token = 0;
	g->marks = 0;
	writer_fini(&g->ahead);
	tell_reconnected(c, server_of(c->pc.server));
}

/*
 * A client whose server tells it everything has lost nothing. A client in a
 * move has lost what comes after it.
 */
static void lose(struct listening *g)
{
	struct client *const c = g->client;

	g->listener->look = true;
	if (close_deaf(c))
		return;
	if (g->token == 0 || g->becomes == HEARS_LISTENER) {
		g->hears = HEARS_NOBODY;
		g->token = 0;
		g->marks = 0;
		writer_fini(&g->ahead);
		return;
	}
	g->marks |= MARK_LISTENER;
	channels_end_move(c);
	if (c->pc.server != NULL)
		tell_reconnected(c, server_of(c->pc.server));
}

void listener_lose(struct listener *l)
{
	struct listening *g, *next;

	DL_FOREACH_SAFE(l->clients, g, next) {
		if (g->token == 0 && g->hears != HEARS_LISTENER)
			continue;
		catalog_touch_pool(g->client->ss->catalog, l->pool);
		lose(g);
	}
}
