/* roam.c - finds clients that have moved between workers, or come from another
 * process.
 * SPDX-License-Identifier: ISC */
#include "session/roam.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "base/hash.h"
#include "base/ledger.h"
#include "base/mem.h"
#include "session/client.h"
#include "session/sessions.h"

void roam_share(struct sessions *ss, struct sessions *first)
{
	ss->roaming = first == NULL ? &ss->own_roaming :
	    &first->own_roaming;
	if (first == NULL)
		pthread_mutex_init(&ss->own_roaming.lock, NULL);
}

int roam_begin(struct client *c)
{
	struct roaming *const all = c->ss->roaming;

	if (c->roamer != NULL)
		return 0;
	struct roamer *const r = mem_zalloc(sizeof *r);

	if (r == NULL)
		return -1;
	memcpy(r->key, c->key, sizeof r->key);
	r->worker = c->ss->worker;
	pthread_mutex_lock(&all->lock);
	HASH_ADD(hh, all->by_key, key, sizeof r->key, r);
	pthread_mutex_unlock(&all->lock);
	if (r->hh.tbl == NULL) {
		mem_free(r);
		return -1;
	}
	c->roamer = r;
	return 0;
}

/*
 * A worker that looks for c finds its worker, or the one to which it was
 * mailed.
 */
void roam_send(struct client *c, struct sessions *from, unsigned to)
{
	struct roaming *const all = from->roaming;

	pthread_mutex_lock(&all->lock);
	c->roamer->worker = to;
	c->roamer->is_mailed = true;
	from->client_ops.move(from->app, c, to);
	pthread_mutex_unlock(&all->lock);
}

void roam_arrive(struct client *c)
{
	struct roaming *const all = c->ss->roaming;

	pthread_mutex_lock(&all->lock);
	c->roamer->is_mailed = false;
	pthread_mutex_unlock(&all->lock);
}

void roam_end(struct client *c)
{
	struct roaming *const all = c->ss->roaming;
	struct roamer *const r = c->roamer;

	c->roamer = NULL;
	if (r == NULL)
		return;
	pthread_mutex_lock(&all->lock);
	HASH_DEL(all->by_key, r);
	pthread_mutex_unlock(&all->lock);
	ledger_lose(&r->of_user);
	ledger_lose(&r->of_database);
	writer_fini(&r->luggage);
	secret_wipe(r->key, sizeof r->key);
	mem_free(r);
}

struct roam_place roam_find(struct sessions *ss, const uint8_t *key)
{
	struct roam_place place = { -1, false };
	struct roaming *const all = ss->roaming;
	struct roamer *r = NULL;

	if (all == NULL)
		return place;
	pthread_mutex_lock(&all->lock);
	HASH_FIND(hh, all->by_key, key, CANCEL_KEY_BYTES, r);
	if (r != NULL)
		place = (struct roam_place){ (int)r->worker, r->is_mailed };
	pthread_mutex_unlock(&all->lock);
	return place;
}

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
	/*
	 * without memory, the client is not found, and its cancel requests are
	 * dropped
	 */
	HASH_ADD(hh, k->by_key, key, sizeof p->key, p);
}

int carried_find(const struct carried *k, const uint8_t *key)
{
	struct place *p = NULL;

	if (k != NULL)
		HASH_FIND(hh, k->by_key, key, CLIENT_KEY_BYTES, p);
	return p == NULL ? -1 : (int)p->worker;
}
