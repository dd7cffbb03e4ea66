/* listener_take.c - notifications from the listener, and from a client's
 * server.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <utlist.h>

#include "base/num.h"
#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener.h"
#include "notify/listener_parts.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

/* The listener has reached the mark that ends a client's move. */
static void take_mark(struct listener *l, uint32_t mark)
{
	struct listening *g;

	DL_SEARCH_SCALAR(l->clients, g, token, mark);
	if (g == NULL)
		return;
	struct client *const c = g->client;

	g->marks |= MARK_LISTENER;
	l->look = true;
	channels_end_move(c);
	catalog_touch_pool(c->ss->catalog, l->pool);
	channels_flush(c);
}

static void listener_take_tell(struct subscription *it, const uint8_t *m,
    size_t size)
{
	const struct listening *const g = it->by;
	const bool past = (g->marks & MARK_LISTENER) != 0;

	if (it->is == TO_COME)
		return;
	/*
	 * notifications after the mark wait until the other stream has reached
	 * it
	 */
	if (g->hears == HEARS_LISTENER && !past)
		channels_send(g->client, m, size);
	else if (g->token != 0 && g->becomes == HEARS_LISTENER && past)
		channels_keep(g->client, m, size);
}

void listener_tell(struct listener *l, const uint8_t *m, size_t size)
{
	struct subscription *it, *next;
	struct channel *ch = NULL;
	struct notification n;
	uint32_t mark;

	if (!channels_parse(m, size, &n))
		return;
	if (strcmp(n.channel, l->marker) == 0) {
		if (num_parse_u32(n.payload, &mark) == 0 && mark != 0)
			take_mark(l, mark);
		return;
	}
	HASH_FIND(hh, l->channels, n.channel, strlen(n.channel), ch);
	if (ch == NULL)
		return;
	DL_FOREACH_SAFE(ch->first, it, next)
		listener_take_tell(it, m, size);
}

/*
 * Is it the mark of a replacement? Until the mark, all notifications come from
 * l->server.
 */
static bool is_turn(const struct listener *l, const struct notification *n)
{
	uint32_t mark;

	return l->replacing != REPLACING_NOTHING &&
	    strcmp(n->channel, l->marker) == 0 &&
	    num_parse_u32(n->payload, &mark) == 0 && mark == l->mark;
}

void listener_take(struct server *s, const uint8_t *m, size_t size)
{
	struct listener *const l = s->ps.pool->hearing.listener;
	struct notification n;

	if (l == NULL || !channels_parse(m, size, &n))
		return;
	const uint8_t ear = listener_ear(l, s);
	const bool past = (l->past & ear) != 0;

	if (is_turn(l, &n)) {
		l->past |= ear;
		catalog_touch_pool(s->ss->catalog, l->pool);
	} else if (s == l->server && !past)
		listener_tell(l, m, size);
	else if (s == l->next && past)
		writer_bytes(&l->ahead, m, size);
}

static void take_own_mark(struct client *c, const struct notification *n)
{
	struct listening *const g = c->listening;
	uint32_t mark;

	if (g == NULL || strcmp(n->channel, g->listener->marker) != 0 ||
	    num_parse_u32(n->payload, &mark) < 0 || mark == 0 ||
	    mark != g->token)
		return;
	g->marks |= MARK_SERVER;
	g->listener->look = true;
	channels_end_move(c);
	catalog_touch_pool(c->ss->catalog, g->listener->pool);
}

/*
 * Is it a notification that c sent to itself, on a channel that only this
 * server hears?
 */
static bool is_early(const struct client *c, const struct notification *n)
{
	const struct server *const s = server_of(c->pc.server);

	return s->key_len >= 4 && msg_u32(s->key) == n->pid &&
	    channels_find(c, n->channel) == NULL;
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
	const struct server *const s = server_of(c->pc.server);
	const bool past = (g->marks & MARK_SERVER) != 0;

	if (g->hears == HEARS_SERVER && !past)
		return true;
	if (g->token != 0 && g->becomes == HEARS_SERVER && past)
		channels_keep(c, m, size);
	else if (s->ps.mode == POOL_SESSION)
		/*
		 * no probe has found a channel that the listener does not tell
		 */
		return channels_find(c, n.channel) == NULL;
	else if (is_early(c, &n))
		channels_keep_early(c, m, size);
	return false;
}
