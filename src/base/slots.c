/* slots.c - a hash table in one piece.
 * SPDX-License-Identifier: ISC */
#include "base/slots.h"

#include <assert.h>

#include "base/mem.h"

#define SIZE_MIN 8

static struct slots *slots_new(unsigned size)
{
	struct slots *s = mem_zalloc(sizeof *s + size * sizeof s->at[0]);

	if (s != NULL)
		s->mask = size - 1;
	return s;
}

/* There is room. */
static void put(struct slots *s, uint32_t hash, void *item)
{
	unsigned i = hash & s->mask;

	while (s->at[i].item != NULL)
		i = (i + 1) & s->mask;
	s->at[i] = (struct slot){ item, hash };
	s->count++;
}

/* At most three of four are taken. */
static bool is_full(const struct slots *s)
{
	return s == NULL || (s->count + 1) * 4 > (s->mask + 1) * 3;
}

static int grow(struct slots **sp)
{
	struct slots *const old = *sp,
	    *s = slots_new(old == NULL ? SIZE_MIN : (old->mask + 1) * 2);

	if (s == NULL)
		return -1;
	for (unsigned i = 0; old != NULL && i <= old->mask; i++) {
		if (old->at[i].item != NULL)
			put(s, old->at[i].hash, old->at[i].item);
	}
	mem_free(old);
	*sp = s;
	return 0;
}

int slots_add(struct slots **s, uint32_t hash, void *item)
{
	if (is_full(*s) && grow(s) < 0)
		return -1;
	put(*s, hash, item);
	return 0;
}

static unsigned place_of(const struct slots *s, uint32_t hash,
    const void *item)
{
	unsigned i = hash & s->mask;

	while (s->at[i].item != item) {
		assert(s->at[i].item != NULL);
		i = (i + 1) & s->mask;
	}
	return i;
}

void slots_remove(struct slots **sp, uint32_t hash, const void *item)
{
	struct slots *const s = *sp;
	unsigned gap = place_of(s, hash, item);

	/* an entry behind the gap moves into the gap, if found there */
	for (unsigned i = (gap + 1) & s->mask; s->at[i].item != NULL;
	    i = (i + 1) & s->mask) {
		const unsigned home = s->at[i].hash & s->mask;

		if (((i - home) & s->mask) < ((i - gap) & s->mask))
			continue;
		s->at[gap] = s->at[i];
		gap = i;
	}
	s->at[gap].item = NULL;
	if (--s->count > 0)
		return;
	mem_free(s);
	*sp = NULL;
}

void *slots_next(const struct slots *s, unsigned *at)
{
	while (s != NULL && *at <= s->mask) {
		void *const item = s->at[(*at)++].item;

		if (item != NULL)
			return item;
	}
	return NULL;
}
