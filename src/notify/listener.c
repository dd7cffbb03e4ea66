/* listener.c - the connection that listens for all clients of a pool.
 * SPDX-License-Identifier: ISC */
#include "notify/listener.h"

#include <string.h>
#include <utlist.h>

#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener_parts.h"
#include "pool/catalog.h"
#include "pool/drain.h"
#include "pool/limit.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_launch.h"

#define CHANGES_MAX 500		/* in one query */

/* --- what it listens to --- */

uint8_t listener_ear(const struct listener *l, const struct server *s)
{
	return s == l->server ? l->ear : l->ear ^ (EAR_ONE | EAR_OTHER);
}

/* Returns false when there is nothing to change. */
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

/* --- who has waited for it --- */

/* Is all that is to come heard? */
static bool is_heard(const struct listening *g)
{
	const struct subscription *it;

	DL_FOREACH2(g->own, it, own_next) {
		if (it->is == TO_COME && (it->channel->listened &
		    (uint8_t)~it->channel->asked & g->listener->ear) == 0)
			return false;
	}
	return true;
}

/* All that was committed before c was asked has been told by now. */
static bool is_settled(const struct listening *g)
{
	switch (channels_source(g)) {
	case HEARS_SERVER:
		return g->token == 0;
	case HEARS_NOBODY:
		return true;
	case HEARS_LISTENER:
		break;
	}
	return g->settles <= g->listener->answered && is_heard(g);
}

/* May close c. */
static void settle(struct client *c)
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

/* Who stands still is looked at again when all goes on. */
static struct client *find_settled(struct listener *l)
{
	struct listening *g;

	l->look = false;
	DL_FOREACH(l->clients, g) {
		const bool settled = g->settles != 0 && is_settled(g);

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
			settle(c);
		c = p->hearing.listener == NULL || !p->hearing.listener->look ?
		    NULL : find_settled(p->hearing.listener);
	} while (c != NULL);
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
	struct listener *const l = p->hearing.listener;

	if (l == NULL && s != NULL)
		server_close(s, CLOSE_SERVER_IDLE_TIMEOUT);
	else if (l != NULL && l->server == NULL)
		l->server = s;
	else if (l != NULL)
		l->next = s;
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

bool listener_is_free(const struct server *s)
{
	return s != NULL && s->phase == SERVER_PHASE_POOLED &&
	    s->own_query == OWN_QUERY_NONE && !stream_is_suspended(&s->stream);
}

static bool is_wanted(const struct listener *l)
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
	p->hearing.wanted = is_wanted(p->hearing.listener);
	if (p->hearing.wanted && may_launch(ss, p) &&
	    server_launch_room(p, NULL, &reserve))
		launch(ss, p);
	l = p->hearing.listener;
	if (l == NULL)
		return;
	/* what another process has heard it with may be gone */
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

/* --- answers, and the end --- */

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
	channels_tidy(l);	/* but not l, as s is there */
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
	/* a client that was closed may have been the last: l is gone, too */
	if (p->hearing.listener != NULL) {
		catalog_touch_pool(s->ss->catalog, p);
		channels_tidy(p->hearing.listener);
	}
}
