/* database.h - a database as clients name it.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_DATABASE_H
#define POOL_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/time.h"
#include "base/wheel.h"
#include "pool/limit_queue.h"
#include "pool/limit_share.h"

struct config_db;
struct credentials;
struct pool;
struct pool_server;

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
	struct pool_server *evictable;	/* DL under that limit; see evict.h */
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

#endif
