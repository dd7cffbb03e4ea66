/* listener_lost.c - what was lost with a connection, and is heard again.
 * SPDX-License-Identifier: ISC */
#include <utlist.h>

#include "base/errcodes.h"
#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener_parts.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "proto/report.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

/* Closes c if that is what its pool does with who may have missed something. */
static bool close_deaf(struct client *c)
{
	if (c->pc.pool->limits.listen_lost != LISTEN_LOST_CLOSE)
		return false;
	client_fail_cause(c, (struct close_cause){
	    .reason = CLOSE_LISTENER_LOST,
	    .text = close_cause(CLOSE_LISTENER_LOST).text,
	    .code = ERRCODE_ADMIN_SHUTDOWN,
	    .hint = "Notifications may have been lost. Connect again, and look "
	    "at what you listen for." });
	return true;
}

/* c may have missed something. May close c. */
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

/* Does the listener hear all of what g has lost? */
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

/* Whoever has it from a server has all; on the way there, from there on. */
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
