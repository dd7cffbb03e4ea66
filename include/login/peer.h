/* peer.h - other processes of our group: their clients' cancels are passed on.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_PEER_H
#define LOGIN_PEER_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "pool/catalog.h"
#include "pool/close_reason.h"

struct client;
struct server;
struct sessions;

/*
 * A peer to which a request was passed on. Its pool is in no catalog and has
 * no database and no user but those stand-ins, so that connections to it are
 * launched and listed like all others.
 */
struct peer {
	UT_hash_handle hh;		/* ss->peers */
	int id;
	struct pool pool;
	struct database db;
	struct user user;
	struct config_db conf;		/* valid while connecting only */
	char db_name[8], user_name[9];
};

/*
 * c brought the key of another process, at most CLIENT_KEY_MAX bytes; it is
 * closed without a reply.
 */
void peer_forward(struct client *c, const uint8_t *key, size_t len);
/* Look at the queue of a peer's pool; ends the turn. */
void peer_launch(struct sessions *ss, struct pool *p);
/* The connection is there. */
void peer_connected(struct server *canceler);

/* A configuration came into force: peers that it lacks are dropped. */
void peer_apply(struct sessions *ss);
/* The process ends. */
void peer_drop_all(struct sessions *ss, enum close_reason reason);

/* In order of their ids, for SHOW. */
void peer_sort(struct sessions *ss);

#endif
