/* lobby_workers.c - guests of several workers, who go from one to another.
 * SPDX-License-Identifier: ISC */
#include "pool/lobby_workers.h"

#include <stddef.h>
#include <utlist.h>

#include "pool/lobby_parts.h"

void lobby_share(struct lobby *first, struct lobby *l)
{
	struct lobby *last = first;

	if (!first->shared)
		pthread_mutex_init(&first->lock, NULL);
	first->shared = l->shared = true;
	while (last->next != NULL)
		last = last->next;
	last->next = l;
	l->worker = last->worker + 1;
	l->first = first;
}

void lobby_on_call(struct lobby *l, void (*call)(void *arg), void *arg)
{
	l->call = call;
	l->arg = arg;
}

unsigned lobby_emptiest(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	unsigned fewest = l->guests > 0 ? l->guests - 1 : 0;
	unsigned worker = l->worker;

	for (const struct lobby *other = all; other != NULL;
	    other = other->next) {
		if (other->guests >= fewest)
			continue;
		fewest = other->guests;
		worker = other->worker;
	}
	lobby_unlock(all);
	return worker;
}

static void change_lobby(struct lobby *all, struct lobby_guest *g,
    unsigned worker)
{
	struct lobby *to = all;

	while (to->worker != worker)
		to = to->next;
	g->lobby->guests--;
	to->guests++;
	g->lobby = to;
	g->travels = true;
}

bool lobby_send(struct lobby *l, struct lobby_guest *g, unsigned worker)
{
	struct lobby *const all = lobby_lock(l);
	const bool stays = g->expelled;

	if (!stays)
		change_lobby(all, g, worker);
	lobby_unlock(all);
	return !stays;
}

bool lobby_arrive(struct lobby *l, struct lobby_guest *g)
{
	struct lobby *const all = lobby_lock(l);
	const bool stays = g->present;

	g->travels = false;
	lobby_unlock(all);
	return stays;
}

struct lobby_guest *lobby_take_expelled(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	struct lobby_guest *const g = l->expelled;

	if (g != NULL) {
		DL_DELETE(l->expelled, g);
		g->prev = NULL;
	}
	lobby_unlock(all);
	return g;
}

bool lobby_is_expelled(struct lobby *l, const struct lobby_guest *g)
{
	if (!l->shared)
		return false;
	struct lobby *const all = lobby_lock(l);
	const bool is_expelled = g->expelled;

	lobby_unlock(all);
	return is_expelled;
}

bool lobby_is_empty(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	const bool is_empty = all->count == 0;

	lobby_unlock(all);
	return is_empty;
}

unsigned lobby_leaving(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	const unsigned n = all->leaving;

	lobby_unlock(all);
	return n;
}
