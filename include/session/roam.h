/* roam.h - clients that have gone from worker to worker, and those of another
 * process.
 *
 * A cancel key names the worker that gave it. Of a client that has left that
 * one
 * there is a note for as long as it lives, for all workers, under a lock that
 * is
 * taken where a client moves, ends its life having moved, or is to be canceled.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_ROAM_H
#define SESSION_ROAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/ledger.h"
#include "base/time.h"
#include "proto/msg.h"
#include "proto/startup.h"

struct carried;
struct client;
struct sessions;

/* Of all workers; the first one's. */
struct roaming {
	pthread_mutex_t lock;
	struct roamer *by_key;		/* uthash */
};

/* A client that has moved; owned by it. Its worker's, but for hh and worker. */
struct roamer {
	uint8_t key[CANCEL_KEY_BYTES];
	UT_hash_handle hh;		/* under the lock */
	unsigned worker;		/* under the lock: it is there ... */
	bool is_mailed;			/* ... or on its way to it; the same */
	usec_t came;			/* there; 0: it has not left yet */
	usec_t request_time;		/* its client's by then */
	bool was_idle;			/* its time runs, see ss->idle_list */
	bool stays;			/* it has too much to be carried */
	/* on its way: its places under limits, and its texts */
	struct ledger_trip of_user, of_database;
	struct writer luggage;
};

/* first NULL: ss is that. Before there are threads. */
void roam_share(struct sessions *ss, struct sessions *first);

/* c is going to move. 0, or -1: no memory. */
int roam_begin(struct client *c);
/* c, which is in no list any more, is mailed by client_ops; and it is there. */
void roam_send(struct client *c, struct sessions *from, unsigned to);
void roam_arrive(struct client *c);
/* c is closed. */
void roam_end(struct client *c);

struct roam_place {
	int worker;			/* -1: the client never moved */
	bool is_mailed;			/* it is on its way to that one */
};
/* Where is the client of the key? */
struct roam_place roam_find(struct sessions *ss, const uint8_t *key);

/*
 * Cancel keys of clients that came from another process.
 *
 * Their keys name a worker of that process. Where they are here is written
 * down before the workers run, and never changed: all of them may read it.
 * (doc/workers.md)
 */

/* Room for that many keys. NULL: no memory. */
struct carried *carried_new(size_t count);
void carried_free(struct carried **k);

/* The client of the key, of CLIENT_KEY_BYTES at least, is at that worker. */
void carried_add(struct carried *k, const uint8_t *key, unsigned worker);
/* At which worker? -1: it is none of these keys; k may be NULL. */
int carried_find(const struct carried *k, const uint8_t *key);

#endif
