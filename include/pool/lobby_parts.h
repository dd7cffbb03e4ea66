/* lobby_parts.h - what the files of the lobby share; for lobby*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LOBBY_PARTS_H
#define POOL_LOBBY_PARTS_H

#include <stdint.h>

#include "base/hash.h"
#include "pool/lobby.h"

struct source_key {
	uint8_t family;
	uint8_t net[8];
};

struct lobby_source {
	UT_hash_handle hh;
	struct source_key key;
	struct lobby_guest *mates;	/* DL: guests here, oldest first */
	unsigned count;
	unsigned failures;		/* 0: not in the list of the marked */
	usec_t failed;			/* the last of them */
	struct lobby_source *prev, *next;	/* marked */
};

/* Of all workers; with the lock, where there are several. */
static inline struct lobby *lobby_lock(struct lobby *l)
{
	if (!l->shared)
		return l;
	struct lobby *const all = l->first != NULL ? l->first : l;

	pthread_mutex_lock(&all->lock);
	return all;
}

static inline void lobby_unlock(struct lobby *all)
{
	if (all->shared)
		pthread_mutex_unlock(&all->lock);
}

static inline bool lobby_has_address(const struct lobby_guest *g)
{
	return g->source != NULL && g->source->key.family != 0;
}

/* Out of all lists, with the lock. */
void lobby_take_out(struct lobby *all, struct lobby_guest *g);

#endif
