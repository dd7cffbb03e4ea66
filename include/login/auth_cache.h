/* auth_cache.h - answers of auth_query that are kept for a while.
 * (spec/authentication.md section 6.1)
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_AUTH_CACHE_H
#define LOGIN_AUTH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/time.h"

struct auth_cache;
struct auth_fetch;
struct credentials;
struct err;

#define AUTH_CACHE_NAMES 10000	/* known names, of all workers */
#define AUTH_CACHE_ABSENT 1000	/* names that nobody has, of each worker */
#define AUTH_CACHE_ABSENT_TIME USEC	/* that one of these is kept */

/*
 * All that an answer depends on, and that no RELOAD and no SET changes unseen.
 * All borrowed.
 */
struct auth_key {
	const char *user, *auth_user, *database, *sql;
	bool urgent;	/* a login to the console: PAUSE does not stop its query */
};

enum auth_entry_state {
	AUTH_ENTRY_NEW,		/* no answer yet: it is fetched, or nobody waits */
	AUTH_ENTRY_FOUND,	/* found and name are the answer */
	AUTH_ENTRY_ABSENT,	/* the answer: nobody has that name */
	AUTH_ENTRY_STATES
};

/* Somebody waits for an answer; embedded in what waits. */
struct auth_wait {
	struct auth_wait *prev, *next;	/* DL of entry->waits */
	struct auth_entry *entry;	/* NULL: it does not wait */
	uint64_t after;		/* only a fetch that began later will do */
	bool forgotten;		/* the answer that was there counts no more */
	/*
	 * The wait is over: why is NULL, and entry has the answer; or why says
	 * why there is none. Nothing may be asked of the cache in here.
	 */
	void (*ready)(struct auth_wait *w, const struct auth_entry *entry,
	    const struct err *why);
};

/* Read only, except in auth_cache.c; fetch is auth_fetch.c's. */
struct auth_entry {
	UT_hash_handle hh;
	struct auth_entry *prev, *next;	/* of its state, the last used one first */
	struct auth_cache *cache;	/* borrowed */
	enum auth_entry_state state;
	struct credentials *found;	/* counted; NULL: not in this state */
	char *name;			/* owned; the same */
	usec_t asked;			/* when the query of the answer began */
	uint64_t answered;		/* the number of that fetch; 0: none */
	uint64_t least;			/* an earlier fetch is out of date */
	struct auth_fetch *fetch;	/* that is under way; NULL */
	struct auth_wait *waits;	/* DL, the oldest first */
	size_t key_len;
	char key[];
};

/* max: known names. NULL: no memory. */
struct auth_cache *auth_cache_new(size_t max);
/* Nobody waits any more, and no fetch comes back. */
void auth_cache_free(struct auth_cache **c);

/* Find or make, and note the use. NULL: no memory. */
struct auth_entry *auth_cache_get(struct auth_cache *c,
    const struct auth_key *key);
/* NULL: there is none. */
struct auth_entry *auth_cache_find(struct auth_cache *c,
    const struct auth_key *key);

/* How long answers count. */
struct auth_ages {
	usec_t young, stale;
};

enum auth_age {
	AUTH_AGE_NONE,		/* there is no answer, or none that counts */
	AUTH_AGE_YOUNG,		/* it counts as if it had been asked now */
	AUTH_AGE_OLD,		/* it counts if no server can be asked */
};
enum auth_age auth_entry_age(const struct auth_entry *e,
    const struct auth_ages *ages, usec_t now);

/* The number of the last fetch that has begun, and of the next one, which begins. */
uint64_t auth_cache_last(const struct auth_cache *c);
uint64_t auth_cache_begin(struct auth_cache *c);

void auth_wait_begin(struct auth_wait *w, struct auth_entry *e, uint64_t after);
/* It waits no more; safe on one that does not wait. */
void auth_wait_end(struct auth_wait *w);

/* What a fetch has brought. */
struct auth_news {
	uint64_t number;		/* of the fetch */
	usec_t asked;
	struct credentials *found;	/* borrowed; NULL: no row */
	const char *name;		/* borrowed; of the row */
	const struct err *why;		/* NULL, or: there is no answer */
	bool denied;	/* if so: a server was asked, and says that it has none */
};
/*
 * The fetch of e is over: keep the answer, and tell those whom it serves. What was
 * kept before counts no more if a server denies it. Returns whether others wait for
 * a later fetch. Else e may be gone.
 */
bool auth_entry_put(struct auth_entry *e, const struct auth_news *n);
/* The fetch of e has ended before it was asked. Returns the same as a put. */
bool auth_entry_give_up(struct auth_entry *e);
/* Nobody waits for e, and it has no answer that a later login could use. */
bool auth_entry_is_unwanted(const struct auth_entry *e);

/*
 * Forget one name, in all databases: answers for it, and answers for another name
 * that have led to it. Returns how many that were.
 */
size_t auth_cache_forget(struct auth_cache *c, const char *user);
/* Forget all answers; those that are on their way are asked for again. */
void auth_cache_clear(struct auth_cache *c);
/* A few times a second: names that nobody has, and answers too old for any use. */
void auth_cache_tick(struct auth_cache *c, const struct auth_ages *ages,
    usec_t now);

/* Memory is short: drop all that nobody needs now. */
void auth_cache_shed(struct auth_cache *c);

size_t auth_cache_count(const struct auth_cache *c, enum auth_entry_state s);

#endif
