/* catalog.h - the databases, users and pools.
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
	const struct config_db *conf;	/* borrowed from the configuration, or
					 * `own` */
	struct config_db *own;		/* owned, of an automatic database; else
					 * NULL */
	struct credentials *password;	/* of the forced user; NULL: none */
	const struct config_db *next_conf;	/* these three only while a
						 * configuration */
	struct config_db *next_own;		/* is being applied */
	struct credentials *next_password;
	struct pool *pools;		/* DL by db_next */
	struct limit_queue queue;		/* for max_db_connections */
	struct pool_server *evictable;	/* DL; see limit.h */
	struct limit_share share;	/* used if the database has parts */
	unsigned clients;		/* from the start-up packet on */
	unsigned logins;		/* of these, not logged in */
	unsigned servers;		/* connections in any state */
	usec_t unused_since;		/* automatic: 0 = in use */
	struct wheel_node wheel;		/* the time of its upkeep */
	uint64_t overheard;	/* bits of hosts that got a password in clear
				 * text */
	bool paused, disabled;
	bool is_part;	/* another worker is its home; these are parts of its
			 * pools */
	bool console;			/* the admin database */
	bool tentative;			/* automatic, and no login was
					 * completed */
	unsigned guesses;		/* tentative: logins that asked for
					 * it */
};

/* db is not tentative, or not any more. */
static inline void database_keep(struct database *db)
{
	db->tentative = false;
	wheel_wake(&db->wheel);
}

/* The clients that count towards limits: those that have logged in. */
static inline unsigned database_admitted(const struct database *db)
{
	return db->clients - db->logins;
}

/*
 * Admits one more client, as user_admit() does; counts all workers if the
 * database has parts.
 */
bool database_admit(struct database *db, int max);
void database_dismiss(struct database *db);

/* One more client, or one less. */
static inline void database_count_client(struct database *db, int n)
{
	db->clients += (unsigned)n;
	wheel_wake(&db->wheel);
}

/* Which databases belong to this worker, if there are several. */
struct catalog_part {
	unsigned index, count;		/* count 0: all databases */
	struct ledger_book *book;	/* borrowed: limits of all workers;
					 * NULL: one worker */
	atomic_uint *clients;		/* borrowed: of all workers; NULL: one
					 * worker */
	atomic_uint *requests;		/* the same for requests of peers */
	atomic_uint *consoles;		/* of these, logged in to the console */
};

struct catalog {
	struct catalog_part part;
	const struct config *config;	/* counted: the one in force */
	struct database *databases;	/* uthash */
	struct user *users;		/* uthash */
	unsigned auth_file;		/* number of auth files that were put in
					 * force */
	struct user *to_renew;		/* renew from this user on; NULL:
					 * none */
	struct pool *pools;		/* uthash by key */
	struct cursor_list all_users;		/* by name, in byte order */
	struct cursor_list all_databases;	/* by name, in byte order */
	struct cursor_list all_pools;		/* by database and user, in byte
						 * order */
	struct database *console;	/* the admin database */
	atomic_uint clients;		/* all sockets of clients */
	unsigned requests;		/* of these, with a key that a peer may
					 * know */
	unsigned consoles;		/* of these: logged in to the console */
	struct pool *dirty;		/* DL: pools to look at in this turn */
	struct wheel database_due, pool_due;	/* by the time of their
						 * upkeep */
	struct averages averages;		/* of the pools */
	struct recent recent;			/* of them, too */
	struct pool *shared;			/* DL: pools with parts, and
						 * parts */
	unsigned part_databases;	/* databases of other workers */
	bool paused;			/* PAUSE without a database */
	struct drain *drained;		/* LL: see hosts.h */
};

struct catalog_ops {
	/*
	 * A database will be freed: close its clients and servers, then forget
	 * it.
	 */
	void (*database_removed)(struct database *db, void *arg);
	/*
	 * Servers of db do not match the configuration any more (as RECONNECT).
	 */
	void (*database_changed)(struct database *db, void *arg);
};

/* Takes a reference to config. NULL: no memory. */
struct catalog *catalog_new(struct config *config);
/*
 * The same for one part of the databases. The console belongs to the first
 * part.
 */
struct catalog *catalog_new_part(struct config *config,
    struct catalog_part part);
void catalog_free(struct catalog **c);

/*
 * Puts a new configuration in force: adds, changes and removes, and calls ops
 * (may be NULL). Returns 0, or -1: no memory, nothing changed.
 */
int catalog_apply(struct catalog *c, struct config *config,
    const struct catalog_ops *ops, void *arg);

/*
 * Returns the database with exactly this name, or one made from "*". NULL:
 * none.
 */
struct database *catalog_find_database(struct catalog *c, const char *name);
struct database *catalog_auto_database(struct catalog *c, const char *name,
    struct err *e);
/* All its pools must be freed before. */
void catalog_drop_database(struct catalog *c, struct database *db);

/*
 * Wakes databases that may need a pool, or may be removed: those with a forced
 * user, and automatic ones.
 */
void catalog_wake_databases(struct catalog *c);

/*
 * For parts of the pools of another worker's database. NULL: no memory, or no
 * such database.
 */
struct database *catalog_get_part(struct catalog *c, const char *name);

/* Is this the name of the admin database? */
bool catalog_is_console(const char *name);
/*
 * Returns the part to which a database of this name belongs, even if it does
 * not exist.
 */
unsigned catalog_home(const struct catalog *c, const char *name);

struct user *catalog_find_user(struct catalog *c, const char *name);
struct user *catalog_get_user(struct catalog *c, const char *name);
/* No pool and no client may refer to u. */
void catalog_drop_user(struct catalog *c, struct user *u);
/* A client of u has gone: frees u if nothing refers to it any more. */
void catalog_release_user(struct catalog *c, struct user *u);

struct pool *catalog_find_pool(struct catalog *c, struct database *db,
    struct user *user);
/* Finds or makes the pool. NULL: no memory. */
struct pool *catalog_get_pool(struct catalog *c, struct database *db,
    struct user *user);
/* The pool must have no clients and no servers. */
void catalog_drop_pool(struct catalog *c, struct pool *p);

/*
 * Returns the user whose servers clients of u get in db: the forced user, or u.
 */
struct user *catalog_pool_user(struct catalog *c, struct database *db,
    struct user *u);
/*
 * Uses c, which is counted, as the secret of the pool's user, who is not in the
 * auth file, for servers of this database. Not if a user is forced.
 */
void catalog_learn_credentials(struct pool *p, struct credentials *c);
/*
 * The source of the server's secret if it changes by itself. NULL: it does not,
 * and catalog_pool_credentials() has it.
 */
const struct config_secret *catalog_pool_source(const struct pool *p);
/* The secret for logging in to servers, or NULL: none. */
struct credentials *catalog_pool_credentials(const struct catalog *c,
    const struct pool *p);

/* Computes p->limits again from the configuration in force. */
void pool_configure(struct pool *p, const struct config *config);

/*
 * A tick of the upkeep begins: catalog_turn(), then each database and pool that
 * is due (NULL: no more). The caller must say when each is due next.
 */
void catalog_turn(struct catalog *c, usec_t now);
struct database *catalog_turn_database(struct catalog *c);
struct pool *catalog_turn_pool(struct catalog *c);

/* The order of these lists, by strcmp(). */
int database_compare(const struct cursor_node *a, const struct cursor_node *b);
int pool_compare(const struct cursor_node *a, const struct cursor_node *b);

/*
 * The broker will look at p before the turn ends; catalog_take_touched()
 * returns the next one.
 */
void catalog_touch_pool(struct catalog *c, struct pool *p);
struct pool *catalog_take_touched(struct catalog *c);	/* NULL: none left */
void catalog_untouch_pool(struct catalog *c, struct pool *p);

/* Paused by PAUSE or by PAUSE db? */
static inline bool pool_is_paused(const struct pool *p,
    const struct catalog *c)
{
	return (c->paused || p->key.db->paused) && !p->key.db->console;
}

/*
 * The same, except if an administrator needs p for a login that could end the
 * pause.
 */
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
