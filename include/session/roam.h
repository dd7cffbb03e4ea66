/* roam.h - finds clients that have moved between workers, or come from another
 * process.
 *
 * A cancel key names the worker that gave it. If a client has left that worker,
 * a note says where it is. All workers can read the note under a lock. The lock
 * is taken when a client moves, when one that has moved ends, and for a cancel
 * request.
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

/* Shared by all workers, owned by the first. */
struct roaming {
	pthread_mutex_t lock;
	struct roamer *by_key;		/* uthash */
};

/*
 * A client that has moved, and owns this. Its worker may use everything except
 * hh and worker, which need the lock.
 */
struct roamer {
	uint8_t key[CANCEL_KEY_BYTES];
	UT_hash_handle hh;		/* under the lock */
	unsigned worker;		/* under the lock: where it is ... */
	bool is_mailed;			/* ... or will arrive; under the lock */
	usec_t came;			/* when it came; 0: it has not left
					 * yet */
	usec_t request_time;		/* of its client, at that time */
	bool was_idle;			/* it is in ss->idle_list */
	bool stays;			/* it has too much to move */
	/* while it moves: its places under limits, and its texts */
	struct ledger_trip of_user, of_database;
	struct writer luggage;
};

/* To be called before there are threads. first NULL: ss is the first one. */
void roam_share(struct sessions *ss, struct sessions *first);

/* c is going to move. Returns 0, or -1: no memory. */
int roam_begin(struct client *c);
/*
 * c, which is in no list any more, will be mailed by client_ops: notes its new
 * worker.
 */
void roam_send(struct client *c, struct sessions *from, unsigned to);
void roam_arrive(struct client *c);
/* c is closed. */
void roam_end(struct client *c);

struct roam_place {
	int worker;			/* -1: the client has never moved */
	bool is_mailed;			/* it is on its way to that worker */
};
/* Where is the client with this key? */
struct roam_place roam_find(struct sessions *ss, const uint8_t *key);

/*
 * Cancel keys of clients from another process. Their keys name a worker of that
 * process. The table is written before the workers run and never changes, so
 * all of them may read it. (doc/workers.md)
 */

/* Room for this many keys. NULL: no memory. */
struct carried *carried_new(size_t count);
void carried_free(struct carried **k);

/* The client with this key, of CLIENT_KEY_BYTES at least, is at that worker. */
void carried_add(struct carried *k, const uint8_t *key, unsigned worker);
/* Returns the worker, or -1: not one of these keys. k may be NULL. */
int carried_find(const struct carried *k, const uint8_t *key);

#endif
