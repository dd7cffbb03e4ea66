/* channels.c - the channels that each client of a pool listens to.
 * SPDX-License-Identifier: ISC */
#include "notify/channels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

#define PREFIX "pgsluice."

/* A random name, so that no client and no other process uses this channel. */
static void draw_marker(struct listener *l)
{
	uint64_t id;

	crypto_random(&id, sizeof id);
	snprintf(l->marker, sizeof l->marker, PREFIX "%016" PRIx64, id);
}

bool channels_is_marker(const char *name)
{
	const size_t n = sizeof PREFIX - 1;

	return strncmp(name, PREFIX, n) == 0 && strlen(name) == n + 16 &&
	    strspn(name + n, "0123456789abcdef") == 16;
}

struct listener *channels_get_listener(struct pool *p)
{
	struct listener *l = p->hearing.listener;

	if (l != NULL)
		return l;
	l = mem_zalloc(sizeof *l);
	if (l == NULL)
		return NULL;
	l->pool = p;
	l->ear = EAR_ONE;
	writer_init(&l->ahead, CHANNELS_WAITING);
	draw_marker(l);
	p->hearing.listener = l;
	return l;
}

static struct channel *get_channel(struct listener *l, const char *name)
{
	const size_t len = strlen(name);
	struct channel *ch = NULL;

	if (len == 0 || len >= CHANNELS_NAME)
		return NULL;
	HASH_FIND(hh, l->channels, name, len, ch);
	if (ch != NULL)
		return ch;
	ch = mem_zalloc(sizeof *ch);
	if (ch == NULL)
		return NULL;
	memcpy(ch->name, name, len + 1);
	HASH_ADD_KEYPTR(hh, l->channels, ch->name, len, ch);
	if (ch->hh.tbl == NULL) {
		mem_free(ch);
		return NULL;
	}
	return ch;
}

static struct listening *get_listening(struct client *c)
{
	struct listener *const l = c->listening != NULL ? NULL :
	    channels_get_listener(c->pc.pool);

	if (l == NULL)
		return c->listening;
	c->listening = mem_zalloc(sizeof *c->listening);
	if (c->listening == NULL) {
		channels_tidy(l);
		return NULL;
	}
	c->listening->listener = l;
	c->listening->client = c;
	writer_init(&c->listening->waiting, CHANNELS_WAITING);
	writer_init(&c->listening->ahead, CHANNELS_WAITING);
	writer_init(&c->listening->early, CHANNELS_WAITING);
	DL_APPEND(l->clients, c->listening);
	return c->listening;
}

void channels_tidy(struct listener *l)
{
	struct channel *ch, *next;

	HASH_ITER(hh, l->channels, ch, next) {
		if (ch->first != NULL || ch->listened != 0 || ch->asked != 0)
			continue;
		HASH_DEL(l->channels, ch);
		mem_free(ch);
	}
	if (l->channels != NULL || l->server != NULL || l->next != NULL ||
	    l->clients != NULL)
		return;
	l->pool->hearing.listener = NULL;
	writer_fini(&l->ahead);
	mem_free(l);
}

/*
 * Both lists may be long: the clients of the channel, and the channels of the
 * client. The shorter one is searched.
 */
struct subscription *channels_find(const struct client *c, const char *name)
{
	const struct listening *const g = c->listening;
	struct subscription *own = g == NULL ? NULL : g->own;
	struct channel *ch = NULL;

	if (g != NULL)
		HASH_FIND(hh, g->listener->channels, name, strlen(name), ch);
	struct subscription *it = ch == NULL ? NULL : ch->first;

	for (; it != NULL && own != NULL; it = it->next, own = own->own_next) {
		if (it->by == g)
			return it;
		if (own->channel == ch)
			return own;
	}
	return NULL;
}

unsigned channels_count(const struct client *c)
{
	return c->listening == NULL ? 0 : c->listening->count;
}

static void channels_drop(struct subscription *it)
{
	struct listening *const g = it->by;

	DL_DELETE(it->channel->first, it);
	DL_DELETE2(g->own, it, own_prev, own_next);
	g->count--;
	mem_delete(MEM_NOTIFICATION, it, sizeof *it);
}

/* The channels of c have changed, so the listener must be synchronized. */
static void touch(struct client *c, struct listener *l)
{
	catalog_touch_pool(c->ss->catalog, l->pool);
}

int channels_add(struct client *c, const char *name, enum subscribed is)
{
	struct listening *const g = get_listening(c);
	struct channel *const ch = g == NULL ? NULL :
	    get_channel(g->listener, name);
	struct subscription *const it = ch == NULL ? NULL :
	    mem_new(MEM_NOTIFICATION, sizeof *it);

	if (it == NULL) {
		if (g != NULL && g->own == NULL)
			channels_leave(c);
		return -1;
	}
	it->channel = ch;
	it->by = g;
	it->is = is;
	DL_APPEND(ch->first, it);
	DL_APPEND2(g->own, it, own_prev, own_next);
	g->count++;
	touch(c, g->listener);
	return 0;
}

/* Gives all channels of the list one new number, and returns it. */
static uint64_t number(struct listener *l, const char *list, size_t len)
{
	const char *const end = list + len;
	struct channel *ch;

	l->last_list++;
	for (; list < end; list += strlen(list) + 1) {
		HASH_FIND(hh, l->channels, list, strlen(list), ch);
		if (ch != NULL)
			ch->list = l->last_list;
	}
	return l->last_list;
}

unsigned channels_retain(struct client *c, const void *list, size_t len)
{
	struct listening *const g = c->listening;
	struct subscription *it, *next;
	unsigned n = 0;

	if (g == NULL)
		return 0;
	const uint64_t listed = number(g->listener, list, len);

	DL_FOREACH_SAFE2(g->own, it, next, own_next) {
		if (it->channel->list == listed)
			continue;
		n++;
		if (channels_source(g) == HEARS_LISTENER)
			it->is = TO_GO;
		else
			channels_drop(it);
	}
	if (g->own == NULL)
		channels_leave(c);
	else
		touch(c, g->listener);
	return n;
}

void channels_settle(struct client *c)
{
	struct listening *const g = c->listening;
	struct subscription *it, *next;

	g->settles = 0;
	DL_FOREACH_SAFE2(g->own, it, next, own_next) {
		if (it->is == TO_GO)
			channels_drop(it);
		else
			it->is = SUBSCRIBED;
	}
	touch(c, g->listener);
}

void channels_leave(struct client *c)
{
	struct listening *const g = c->listening;

	if (g == NULL)
		return;
	struct listener *const l = g->listener;

	c->listening = NULL;
	touch(c, l);
	while (g->own != NULL)
		channels_drop(g->own);
	DL_DELETE(l->clients, g);
	writer_fini(&g->waiting);
	writer_fini(&g->ahead);
	writer_fini(&g->early);
	mem_free(g);
	channels_tidy(l);
}
