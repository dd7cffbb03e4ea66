/* carried.c - cancel keys of clients that came from another process.
 * SPDX-License-Identifier: ISC */
#include "session/carried.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "session/client.h"

struct place {
	uint8_t key[CLIENT_KEY_BYTES];
	unsigned worker;
	UT_hash_handle hh;
};

struct carried {
	struct place *by_key;		/* uthash */
	size_t size, count;
	struct place places[];
};

struct carried *carried_new(size_t count)
{
	struct carried *const k = mem_zalloc(sizeof *k +
	    count * sizeof k->places[0]);

	if (k != NULL)
		k->size = count;
	return k;
}

void carried_free(struct carried **kp)
{
	struct carried *const k = *kp;

	*kp = NULL;
	if (k == NULL)
		return;
	HASH_CLEAR(hh, k->by_key);
	secret_wipe(k->places, k->count * sizeof k->places[0]);
	mem_free(k);
}

void carried_add(struct carried *k, const uint8_t *key, unsigned worker)
{
	assert(k->count < k->size);
	struct place *const p = &k->places[k->count++];

	memcpy(p->key, key, sizeof p->key);
	p->worker = worker;
	/* without memory it is not found, and its cancels are dropped */
	HASH_ADD(hh, k->by_key, key, sizeof p->key, p);
}

int carried_find(const struct carried *k, const uint8_t *key)
{
	struct place *p = NULL;

	if (k != NULL)
		HASH_FIND(hh, k->by_key, key, CLIENT_KEY_BYTES, p);
	return p == NULL ? -1 : (int)p->worker;
}
