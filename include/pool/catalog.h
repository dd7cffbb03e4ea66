/* catalog.h - the databases, users and pools there are.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_CATALOG_H
#define POOL_CATALOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/time.h"
#include "base/timeouts.h"
#include "conf/config.h"
#include "pool/averages.h"
#include "pool/latencies.h"
#include "pool/limit_queue.h"
#include "pool/pool.h"
#include "pool/users.h"

struct config_db;
struct credentials;
struct drain;
struct ledger_book;
struct pool;
struct pool_server;

/* A database as clients name it. */

struct database {
	UT_hash_handle hh;
	struct cursor_node node;		/* of catalog.all_databases */
	char *name;			/* owned */
	const struct config_db *conf;	/* borrowed from the config, or own */
	struct config_db *own;		/* automatic: owned; else NULL */
	struct credentials *password;	/* of the forced user; NULL = none */
	const struct config_db *next_conf;	/* these three only while */
	struct config_db *next_own;		/* applying */
	struct credentials *next_password;
	struct pool *pools;		/* DL by db_next */
	struct limit_queue queue;		/* for max_db_connections */
	struct pool_server *evictable;	/* DL under that limit; see limit.h */
	struct limit_share share;	/* where it has parts */
	unsigned clients;		/* from the startup packet on */
	unsigned logins;		/* of these: not in yet */
	unsigned servers;		/* connections of any state */
	usec_t unused_since;		/* automatic: 0 = in use */
	struct wheel_node wheel;		/* when it is looked at */
	uint64_t overheard;	/* hosts that got a password as it is: bits */
	bool paused, disabled;
	bool is_part;	/* another worker is its home; here are parts of pools */
	bool console;			/* the admin database */
	bool tentative;			/* automatic: of logins, none done */
	unsigned guesses;		/* tentative: logins that had it asked */
};

/* db is not, or no more, tentative. */
static inline void database_keep(struct database *db)
{
	db->tentative = false;
	wheel_wake(&db->wheel);
}

/* Clients that count for limits: none that has not logged in yet. */
static inline unsigned database_admitted(const struct database *db)
{
	return db->clients - db->logins;
}

/*
 * One client more is admitted, as user_admit() has it: where the database has
 * parts, at all workers.
 */
bool database_admit(struct database *db, int max);
void database_dismiss(struct database *db);

/* One client more, or less. */
static inline void database_count_client(struct database *db, int n)
{
	db->clients += (unsigned)n;
	wheel_wake(&db->wheel);
}

/* Which databases are here, where several workers have some each. */
struct catalog_part {
	unsigned index, count;		/* count 0: all are */
	struct ledger_book *book;	/* borrowed: of limits; NULL: not kept */
	atomic_uint *clients;		/* borrowed: of all parts; NULL: alone */
	atomic_uint *requests;		/* the same of peers' requests */
	atomic_uint *consoles;		/* of these: logged in to the console */
};

struct catalog {
	struct catalog_part part;
	const struct config *config;	/* in force; counted */
	struct database *databases;	/* uthash */
	struct user *users;		/* uthash */
	unsigned auth_file;		/* counts files put in force */
	struct user *to_renew;		/* from this one on; NULL: none */
	struct pool *pools;		/* uthash by key */
	struct cursor_list all_users;	/* the oldest first */
	struct cursor_list all_databases;	/* by name, in byte order */
	struct cursor_list all_pools;		/* by database and user, too */
	struct database *console;	/* the admin database */
	atomic_uint clients;		/* sockets of clients, all */
	unsigned requests;		/* of these: with a key that a peer may know */
	unsigned consoles;		/* of these: logged in to the console */
	struct pool *dirty;		/* DL: to be looked at this turn */
	struct wheel database_due, pool_due;	/* when each is looked at */
	struct averages averages;		/* of the pools */
	struct recent recent;			/* of them, too */
	struct pool *shared;			/* DL: with parts, or parts */
	unsigned part_databases;	/* of other workers' */
	bool paused;			/* PAUSE without a database */
	struct drain *drained;		/* LL: see hosts.h */
};

struct catalog_ops {
	/* A database is going: close its clients and servers, then forget. */
	void (*database_removed)(struct database *db, void *arg);
	/* Servers of db no longer fit the configuration (as RECONNECT). */
	void (*database_changed)(struct database *db, void *arg);
};

/* NULL: no memory. Takes a reference of config. */
struct catalog *catalog_new(struct config *config);
/* The same with one part of the databases; the console is the first part's. */
struct catalog *catalog_new_part(struct config *config,
    struct catalog_part part);
void catalog_free(struct catalog **c);

/*
 * Put a new configuration in force: add, change, remove; ops (may be NULL) is
 * told. 0, or -1: no memory, nothing changed.
 */
int catalog_apply(struct catalog *c, struct config *config,
    const struct catalog_ops *ops, void *arg);

/* The database of exactly this name, NULL: none; or one made from "*". */
struct database *catalog_find_database(struct catalog *c, const char *name);
struct database *catalog_auto_database(struct catalog *c, const char *name,
    struct err *e);
/* All its pools must be gone. */
void catalog_drop_database(struct catalog *c, struct database *db);

/*
 * Something changed for databases that may want a pool or may go: the ones with
 * a forced user, and the automatic ones.
 */
void catalog_wake_databases(struct catalog *c);

/* For parts of the pools of a database of another worker; NULL: no memory, or
 * there is none of that name. */
struct database *catalog_get_part(struct catalog *c, const char *name);

/* Is that the name of the admin database? */
bool catalog_is_console(const char *name);
/* The part that has the database of this name, whether it exists or not. */
unsigned catalog_home(const struct catalog *c, const char *name);

struct user *catalog_find_user(struct catalog *c, const char *name);
struct user *catalog_get_user(struct catalog *c, const char *name);
/* No pool and no client may refer to u. */
void catalog_drop_user(struct catalog *c, struct user *u);
/* A client of u has gone: drop u if nothing refers to it any more. */
void catalog_release_user(struct catalog *c, struct user *u);

struct pool *catalog_find_pool(struct catalog *c, struct database *db,
    struct user *user);
/* Find or make; NULL: no memory. */
struct pool *catalog_get_pool(struct catalog *c, struct database *db,
    struct user *user);
/* No clients and no servers may be left. */
void catalog_drop_pool(struct catalog *c, struct pool *p);

/* The user whose servers clients of u in db get: the forced one, or u. */
struct user *catalog_pool_user(struct catalog *c, struct database *db,
    struct user *u);
/*
 * Take a counted c as the secret of the pool's user, who is in no auth file:
 * for logging in to servers of this database. Not where a user is forced.
 */
void catalog_learn_credentials(struct pool *p, struct credentials *c);
/*
 * Where the secret for logging in to servers is from, if it changes by itself;
 * NULL: it does not, and catalog_pool_credentials() has it.
 */
const struct config_secret *catalog_pool_source(const struct pool *p);
/* The secret for logging in to servers; NULL: none. */
struct credentials *catalog_pool_credentials(const struct catalog *c,
    const struct pool *p);

/* Recompute p->limits from the configuration in force. */
void pool_configure(struct pool *p, const struct config *config);

/*
 * A tick of the upkeep begins; then the databases and pools that are due to be
 * looked at, one by one (NULL: no more); the caller must say when each is next.
 */
void catalog_turn(struct catalog *c, usec_t now);
struct database *catalog_turn_database(struct catalog *c);
struct pool *catalog_turn_pool(struct catalog *c);

/* The order of these lists, as strcmp() tells one. */
int database_compare(const struct cursor_node *a, const struct cursor_node *b);
int pool_compare(const struct cursor_node *a, const struct cursor_node *b);

/* Have the broker look at p before the turn ends, and which is first. */
void catalog_touch_pool(struct catalog *c, struct pool *p);
struct pool *catalog_take_touched(struct catalog *c);	/* NULL: none left */
void catalog_untouch_pool(struct catalog *c, struct pool *p);

/* Paused, by PAUSE or by PAUSE db? */
static inline bool pool_is_paused(const struct pool *p,
    const struct catalog *c)
{
	return (c->paused || p->key.db->paused) && !p->key.db->console;
}

/* The same, and no administrator needs p for a login that could end the pause. */
static inline bool pool_stands_still(const struct pool *p,
    const struct catalog *c)
{
	return pool_is_paused(p, c) && p->urgent == 0;
}

/* How many clients there are, here and at all workers. */

/* One client more, or less, in this part; other threads may look. */
static inline void catalog_count_client(struct catalog *c, int n)
{
	atomic_store_explicit(&c->clients, atomic_load_explicit(&c->clients,
	    memory_order_relaxed) + (unsigned)n, memory_order_relaxed);
}

/* It has come, or is gone: in all parts together. */
static inline void catalog_count_socket(struct catalog *c, int n)
{
	if (c->part.clients != NULL)
		atomic_fetch_add(c->part.clients, (unsigned)n);
	catalog_count_client(c, n);
}

/* Of all parts, and of those who are between two. */
static inline unsigned catalog_clients(const struct catalog *c)
{
	return c->part.clients != NULL ? atomic_load(c->part.clients) :
	    c->clients;
}

/* One more of them, or less, brought a key that a peer may know. */
static inline void catalog_count_request(struct catalog *c, int n)
{
	if (c->part.requests != NULL)
		atomic_fetch_add(c->part.requests, (unsigned)n);
	else
		c->requests += (unsigned)n;
}

/* The same: at the first worker, and for all to know. */
static inline unsigned catalog_requests(const struct catalog *c)
{
	return c->part.requests != NULL ? atomic_load(c->part.requests) :
	    c->requests;
}

/* One more console, or less, and how many there are: the same. */
static inline void catalog_count_console(struct catalog *c, int n)
{
	if (c->part.consoles != NULL)
		atomic_fetch_add(c->part.consoles, (unsigned)n);
	else
		c->consoles += (unsigned)n;
}

static inline unsigned catalog_consoles(const struct catalog *c)
{
	return c->part.consoles != NULL ? atomic_load(c->part.consoles) :
	    c->consoles;
}

#endif
