/* user.h - a user as clients and servers name it.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_USER_H
#define POOL_USER_H

#include <stdbool.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/time.h"
#include "pool/limit_queue.h"
#include "pool/limit_share.h"

struct config_user;
struct credentials;
struct pool;
struct pool_server;

/* Made when it is used first; names that nobody uses stay in the config. */
struct user {
	UT_hash_handle hh;
	struct cursor_node node;		/* of catalog.all_users */
	char *name;			/* owned */
	const struct config_user *conf;	/* borrowed; NULL = no [users] line */
	struct credentials *credentials;	/* see user_credentials() */
	unsigned auth_file;		/* which one they are from */
	struct credentials *typed;	/* of the last login by PAM or LDAP; NULL */
	struct pool *pools;		/* DL by user_next */
	struct limit_queue queue;		/* for max_user_connections */
	struct pool_server *evictable;	/* DL under that limit; see evict.h */
	unsigned clients;		/* of this name */
	unsigned logins;		/* of these: not in yet */
	unsigned servers;		/* of pools of this user */
	struct limit_share share;	/* with other workers */
};

/* Clients that count for limits: none that has not logged in yet. */
static inline unsigned user_admitted(const struct user *u)
{
	return u->clients - u->logins;
}

/*
 * One client more is admitted, if there are fewer than max (0: no limit) at all
 * workers. It gives that back by user_dismiss().
 */
bool user_admit(struct user *u, int max);
void user_dismiss(struct user *u);

#endif
