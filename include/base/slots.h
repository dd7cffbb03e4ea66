/* slots.h - a hash table in one piece, for what is looked up all the time.
 *
 * Open addressing: an entry costs one line of the cache here and one of its
 * own, and needs no links. The caller has the hash, and compares.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_SLOTS_H
#define BASE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private to slots.c and what is inline here. */
struct slot {
	void *item;			/* borrowed; NULL = free */
	uint32_t hash;
};

/* NULL is an empty one, and an empty one is NULL. */
struct slots {
	unsigned count;
	unsigned mask;			/* slots are a power of two */
	struct slot at[];
};

static inline unsigned slots_count(const struct slots *s)
{
	return s == NULL ? 0 : s->count;
}

/* The item with this hash that is the same as key, or NULL. Hot. */
static inline void *slots_find(const struct slots *s, uint32_t hash,
    bool (*is_same)(const void *item, const void *key), const void *key)
{
	if (s == NULL)
		return NULL;
	for (unsigned i = hash & s->mask; s->at[i].item != NULL;
	    i = (i + 1) & s->mask) {
		if (s->at[i].hash == hash && is_same(s->at[i].item, key))
			return s->at[i].item;
	}
	return NULL;
}

/* 0, or -1: no memory. item must not be in *s already. */
int slots_add(struct slots **s, uint32_t hash, void *item);
/* item must be there. */
void slots_remove(struct slots **s, uint32_t hash, const void *item);
/* Each in turn, from *at = 0 on; NULL: no more. None may come or go meanwhile. */
void *slots_next(const struct slots *s, unsigned *at);

#endif
