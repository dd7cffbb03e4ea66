/* hash.h - the hash of all maps, tables in one piece, and strings that are
 * kept once.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct intern;

/* The maps can fail as any allocation: HASH_ADD leaves hh.tbl NULL then. */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, len, out) ((out) = hash_bytes(key, len))
#define uthash_malloc(n) mem_alloc(n)
#define uthash_free(p, n) mem_free(p)
#include <uthash.h>

/*
 * Hot. Seeded: a client that chooses keys (names of statements and of users)
 * must not know which keys share a bucket.
 */
unsigned hash_bytes(const void *key, size_t len);

/* Draw the seed of this process; before the first map is made. */
void hash_seed(void);

/*
 * A hash table in one piece, for what is looked up all the time.
 *
 * Open addressing: an entry costs one line of the cache here and one of its
 * own, and needs no links. The caller has the hash, and compares.
 */

/* Private to hash.c and what is inline here. */
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

/* One copy of each string, counted: equal means same pointer. */

/* NULL: no memory. */
struct intern *intern_new(void);

/* Frees also what is still referenced; nulls the caller's pointer. */
void intern_free(struct intern **t);

/* The table's copy of s, with a reference for the caller. NULL: no memory. */
const char *intern_get(struct intern *t, const char *s);

/* One more reference to what intern_get() returned; returns s. */
const char *intern_ref(const char *s);

/* Give a reference back; s must be of t, NULL is fine. */
void intern_put(struct intern *t, const char *s);

#endif
