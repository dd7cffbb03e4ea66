/* hash.c - the hash of all maps, tables in one piece, and strings that are
 * kept once.
 * SPDX-License-Identifier: ISC */
#include "base/hash.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/mem.h"

/* Without hash_seed(), as in tests: the same from run to run. */
static struct {
	uint64_t start;
	uint32_t low, high;
} seed = { 0x9e3779b97f4a7c15, 0x85ebca6b, 0xc2b2ae35 };

void hash_seed(void)
{
	crypto_random(&seed, sizeof seed);
}

/*
 * Both factors depend on key and seed: without the seed, there is no telling
 * which keys have the same product.
 */
static uint64_t mix(uint64_t h)
{
	return (uint64_t)((uint32_t)h ^ seed.low) *
	    ((uint32_t)(h >> 32) ^ seed.high);
}

static uint32_t read_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* The last 0 to 8 bytes: every one counts, some of them twice. */
static uint64_t read_rest(const uint8_t *p, size_t n)
{
	if (n >= 4)
		return read_u32(p) | (uint64_t)read_u32(p + n - 4) << 32;
	if (n == 0)
		return 0;
	return p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16;
}

unsigned hash_bytes(const void *key, size_t len)
{
	const uint8_t *p = key;
	uint64_t h = seed.start ^ len;
	size_t left = len;

	for (; left > 8; p += 8, left -= 8)
		h = mix(h ^ read_rest(p, 8));
	h = mix(h ^ read_rest(p, left));
	/* the low bits of a product depend on few of its factors' */
	h = mix(mix(h));
	return (unsigned)(h ^ h >> 32);
}

#define SIZE_MIN 8

static struct slots *slots_new(unsigned size)
{
	struct slots *s = mem_zalloc(sizeof *s + size * sizeof s->at[0]);

	if (s != NULL)
		s->mask = size - 1;
	return s;
}

/* There is room. */
static void hash_put(struct slots *s, uint32_t hash, void *item)
{
	unsigned i = hash & s->mask;

	while (s->at[i].item != NULL)
		i = (i + 1) & s->mask;
	s->at[i] = (struct slot){ item, hash };
	s->count++;
}

/* At most three of four are taken. */
static bool hash_is_full(const struct slots *s)
{
	return s == NULL || (s->count + 1) * 4 > (s->mask + 1) * 3;
}

static int hash_grow(struct slots **sp)
{
	struct slots *const old = *sp,
	    *s = slots_new(old == NULL ? SIZE_MIN : (old->mask + 1) * 2);

	if (s == NULL)
		return -1;
	for (unsigned i = 0; old != NULL && i <= old->mask; i++) {
		if (old->at[i].item != NULL)
			hash_put(s, old->at[i].hash, old->at[i].item);
	}
	mem_free(old);
	*sp = s;
	return 0;
}

int slots_add(struct slots **s, uint32_t hash, void *item)
{
	if (hash_is_full(*s) && hash_grow(s) < 0)
		return -1;
	hash_put(*s, hash, item);
	return 0;
}

static unsigned hash_place_of(const struct slots *s, uint32_t hash,
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
	unsigned gap = hash_place_of(s, hash, item);

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

struct istr {
	UT_hash_handle hh;
	unsigned refs;
	char s[];
};

struct intern {
	struct istr *strings; /* uthash, by s */
};

static struct istr *istr_of(const char *s)
{
	return container_of(s, struct istr, s[0]);
}

struct intern *intern_new(void)
{
	return mem_zalloc(sizeof(struct intern));
}

void intern_free(struct intern **t)
{
	struct istr *i, *next;

	if (*t == NULL)
		return;
	HASH_ITER (hh, (*t)->strings, i, next) {
		HASH_DEL((*t)->strings, i);
		mem_free(i);
	}
	mem_free(*t);
	*t = NULL;
}

const char *intern_get(struct intern *t, const char *s)
{
	const size_t len = strlen(s);
	struct istr *i;

	HASH_FIND(hh, t->strings, s, len, i);
	if (i != NULL)
		return intern_ref(i->s);

	i = mem_alloc(sizeof *i + len + 1);
	if (i == NULL)
		return NULL;
	i->refs = 1;
	memcpy(i->s, s, len + 1);
	HASH_ADD_KEYPTR(hh, t->strings, i->s, len, i);
	if (i->hh.tbl == NULL) {
		mem_free(i);
		return NULL;
	}
	return i->s;
}

const char *intern_ref(const char *s)
{
	struct istr *const i = istr_of(s);

	assert(i->refs > 0 && i->refs < UINT_MAX);
	i->refs++;
	return s;
}

void intern_put(struct intern *t, const char *s)
{
	if (s == NULL)
		return;

	struct istr *const i = istr_of(s);

	assert(i->refs > 0);
	if (--i->refs > 0)
		return;
	HASH_DEL(t->strings, i);
	mem_free(i);
}
