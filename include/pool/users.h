/* users.h - the users who have come, and the names that are known.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_USERS_H
#define POOL_USERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/time.h"
#include "pool/limit_queue.h"

struct catalog;
struct config;
struct config_user;
struct credentials;
struct pool;
struct pool_server;

/* A user as clients and servers name it. */

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
	struct pool_server *evictable;	/* DL under that limit; see limit.h */
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

/* Is there an entry in the auth file? */
bool users_has_listed(const struct catalog *c, const char *name);
/*
 * The secret in the auth file; NULL: there is none, or no memory, as
 * user_renew() tells. Borrowed until the next configuration. Looked up when it
 * is asked for: a reload that goes through 100,000 names would stop everybody.
 */
int user_renew(const struct catalog *c, struct user *u);
struct credentials *user_credentials(const struct catalog *c, struct user *u);
/*
 * A step of the way to where no secret is left that the file has lost. Returns
 * whether there are more.
 */
bool users_renew(struct catalog *c);

/*
 * u has logged in with a password that somebody else has checked: it is for
 * the servers, too. What was derived from the same one before is kept.
 */
void user_put_typed(struct user *u, struct credentials *typed);

/* A name out of the auth file, of a line of [users], or of a user that came. */
struct known_user {
	const char *name;
	const struct config_user *conf;	/* NULL: no line */
	unsigned clients, servers;	/* as user_admitted() has them */
};
/* By name, in byte order: for catalog.all_users. */
int user_compare(const struct cursor_node *a, const struct cursor_node *b);

/*
 * All names of catalogs with one configuration, in byte order and each once, a
 * name a step; users may come and go between two steps. The lines and the auth
 * file are those of the beginning: a reload does not change them meanwhile.
 */
#define USERS_CATALOGS 64
struct users_walk {
	struct config *config;		/* counted; NULL: of no catalog yet */
	const struct config_user *conf;	/* of its lines, the next one */
	size_t listed;			/* of its auth file, the same */
	size_t count;			/* of catalogs */
	struct cursor used[USERS_CATALOGS];	/* of each, by name */
};

void users_walk_begin(struct users_walk *w);
/* USERS_CATALOGS at most, and all of them before the first step. */
void users_walk_add(struct users_walk *w, struct catalog *c);
/*
 * A step; false: that was all. What is in out is good as long as nothing moves.
 */
bool users_walk_next(struct users_walk *w, struct known_user *out);
/* Must be called before a catalog goes. Ended twice: no effect. */
void users_walk_end(struct users_walk *w);
/*
 * How many users there are: users of the configuration, which takes no time to
 * speak of, and users that came without being in it.
 */
size_t users_count(const struct catalog *c);
size_t users_configured(const struct catalog *c);
bool user_is_configured(const struct catalog *c, const struct user *u);

#endif
