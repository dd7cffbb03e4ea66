/* pool.h - which client gets which server connection: states, queue, limits.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_POOL_H
#define POOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/ledger.h"
#include "base/time.h"
#include "base/timeouts.h"
#include "pool/close_reason.h"
#include "pool/limit_queue.h"
#include "pool/members.h"
#include "pool/pool_welcome.h"
#include "pool/tally.h"

struct credentials;
struct database;
struct host_failures;
struct pool_client;
struct pool_server;
struct user;

struct pool_key {
	struct database *db;
	struct user *user;
};

struct pool {
	UT_hash_handle hh;		/* in the catalog, by key */
	struct cursor_node node;		/* of catalog.all_pools */
	struct pool_key key;
	struct pool *db_prev, *db_next;		/* other pools of the same: DL */
	struct pool *user_prev, *user_next;
	struct pool *dirty_prev, *dirty_next;	/* in catalog.dirty; prev NULL: not */
	struct pool_limits limits;
	uint64_t startup;		/* see startup_params_mark() */
	bool restarts;			/* that has changed: its servers are to go */
	struct pool_server *servers[SERVER_STATES];	/* DL lists */
	unsigned server_count[SERVER_STATES];
	struct pool_client *clients[CLIENT_STATES];	/* DL lists, FIFO */
	unsigned client_count[CLIENT_STATES];
	unsigned lookups, pinned;	/* clients: in auth_query; with a pin that
					 * counts */
	unsigned urgent;		/* of the lookups */
	unsigned listeners;		/* servers that are kept to listen only */
	unsigned password_waits;	/* servers whose password is fetched */
	struct credentials *credentials;	/* counted; by auth_query; NULL */
	struct welcome *welcome;	/* owned; NULL = none, or obsolete */
	uint32_t told;			/* counts welcomes that told another thing */
	bool doubted;			/* the welcome: pool_doubt_welcome() */
	struct counted counted;
	struct latencies *latencies;	/* owned; NULL: nothing noted yet */
	struct recent *recent;		/* the catalog's; NULL: a peer's pool */
	struct pool *averages_prev, *averages_next;	/* see averages.h; prev NULL: not */
	unsigned averages_round;		/* the last one that has this pool */
	struct wheel_node wheel;		/* of catalog.pool_due; see due.h */
	usec_t idle_due_at, idle_seen_at;	/* all idle servers: next, last look */
	usec_t last_launch, last_lifetime_close;	/* an attempt's start */
	usec_t unused_since, drained_at;	/* 0 = in use; drain_stops() */
	usec_t vacated_at;		/* see broker/vacate.h */
	bool failing, old_protocol;	/* the latest login; refuses all but 3.0 */
	bool passing;			/* ... fails until the next password is there */
	bool check_failed;		/* the latest one: new servers have one */
	usec_t failing_since;		/* of these failures, the first */
	char *failure;			/* owned; see pool.h */
	const char *failure_hint;	/* borrowed; NULL: as always */
	char *miss;			/* owned: where and why, for operators */
	bool missed;			/* in the attempt under way */
	unsigned host_turn, address_turn;	/* of a list, of a name: the next */
	struct host_failures *failures;	/* owned; see hosts.h */
	bool serving;			/* private to the broker */
	bool lent_told, superuser_told;	/* warned of: see auth_query.h */
	struct limit_queue_place place[LIMIT_KINDS];
	struct limit_share share;	/* with other parts of it; see parts.h */
	unsigned lease;			/* of a part: its share of the size */
	bool is_part;			/* its home is another worker's pool */
	struct pool_parts parts;	/* of one that is at home */
	struct pool_moves moves;	/* of one with parts, and of these */
	struct pool *shared_prev, *shared_next;	/* in catalog.shared: DL */
	struct pool_hearing hearing;
	int peer_id;			/* of a peer's pool; 0 = of a database */
};

/* The setters: move between lists, keep the counts of db and user. */
void pool_server_set(struct pool_server *ps, enum server_state state);
void pool_client_set(struct pool_client *pc, enum client_state state);
void pool_link(struct pool_client *pc, struct pool_server *ps);
void pool_unlink(struct pool_client *pc);
/* Servers of p, or the settings they must meet, changed: look at each. */
void pool_recheck(struct pool *p);

/* active + being canceled + idle + tested + used; + login, carrying cancels. */
unsigned pool_connected(const struct pool *p);
unsigned pool_total(const struct pool *p);
/* What counts for its size: the total, of all parts where it has some. */
unsigned pool_held(const struct pool *p);

/* The idle server to use next, or NULL. */
struct pool_server *pool_pick_server(const struct pool *p);
/* The client to serve next, or NULL. */
struct pool_client *pool_pick_client(const struct pool *p);
/* When the client that has waited longest began to; 0: none waits. */
usec_t pool_waiting_since(const struct pool *p);
/* The same of the clients that no server is on its way for. */
usec_t pool_uncovered_since(const struct pool *p);
unsigned pool_uncovered(const struct pool *p);	/* how many these clients are */

/* What becomes of a free server, which was lent, or not (section 9). */
enum pool_release {
	POOL_TO_IDLE,
	POOL_TO_USED,		/* to be checked before its next use */
	POOL_TO_TESTED, POOL_TO_CLEANED,	/* run the reset query; clean */
	POOL_TO_BEING_CANCELED,	/* wait for the cancels in flight */
	POOL_TO_CLOSE,		/* *why says so */
};
enum pool_release pool_release_verdict(struct pool_server *ps, bool lent,
    usec_t now, enum close_reason *why);

/*
 * The client to get a dedicated server next, if one may be opened now; or NULL.
 * Room for it is another question: limit_check_dedicated(). (section 17)
 */
struct pool_client *pool_pick_dedicated(const struct pool *p, usec_t now);

/* Has pc waited long enough for a reserve connection, and is one left? */
bool pool_reserve_is_due(const struct pool *p, const struct pool_client *pc,
    usec_t now);

/* Is the server past its lifetime, spread over the pool? (section 11) */
bool pool_lifetime_over(const struct pool_server *ps, usec_t now);

/*
 * How many to launch for them now, whatever the limits of database and user;
 * *reserve: the last of them is a reserve one.
 */
unsigned pool_wanted(const struct pool *p, usec_t now, bool *reserve);
/* The same for min_pool_size; 0 or 1. */
unsigned pool_wanted_minimum(const struct pool *p, usec_t now);
/* Are there fewer than min_pool_size, and none on its way? */
bool pool_is_below_minimum(const struct pool *p);
/* Up to how many a slot may be taken for p now, be it past its size; 0: any. */
unsigned pool_maximum(const struct pool *p, usec_t now);
/* Could p begin one more login now, if there were room? */
bool pool_could_launch(const struct pool *p, usec_t now);
/* Is a pause over that follows a login that failed? */
bool pool_may_retry(const struct pool *p, usec_t now);
/*
 * Idle servers were closed because a client wants their database for itself:
 * for a second p opens none up to its minimum. May they be closed again? Not
 * more often than that.
 */
void pool_vacated(struct pool *p, usec_t now);
bool pool_may_vacate(const struct pool *p, usec_t now);

/*
 * When p, which is down, is tried again for nobody: the longer it has been down,
 * the later.
 */
usec_t pool_retry_alone(const struct pool *p);

/* Would waiting be in vain? (section 10, "fast fail") */
bool pool_is_down(const struct pool *p);

/* Why no server of a pool could be logged in. */

/*
 * A login failed, for this reason (NULL: no memory); or it did not. hint, a
 * constant, is what to do; NULL: nothing particular.
 */
void pool_fail(struct pool *p, const char *reason, const char *hint);
void pool_worked(struct pool *p);
/*
 * A connection of the attempt under way was not made: "Connection refused
 * (10.0.0.7:5432)". The pool_fail() that follows is about it.
 */
void pool_miss(struct pool *p, const char *what);
/*
 * The reason may be gone: the next attempt is due at once. p counts as failing
 * until that attempt works.
 */
void pool_retry_now(struct pool *p);
/* Why the latest login failed. */
const char *pool_failure(const struct pool *p);
/* What operators alone are told of it, besides; or NULL. */
const char *pool_failure_detail(const struct pool *p);
/* What to do about it. */
const char *pool_failure_hint(const struct pool *p);

/*
 * An idle server goes to the same pool of another worker.
 *
 * It is counted there and here by turns, and for all workers all the while.
 */

/* What it keeps of the limits on its way; zero: that one is not shared. */
struct pool_slots {
	struct ledger_trip of[LIMIT_SHARES];
};

/* ps is in no list any more. */
struct pool_slots pool_server_leave(struct pool_server *ps, unsigned to);
/* The same as one of p, idle. */
void pool_server_join(struct pool_server *ps, struct pool *p,
    struct pool_slots *slots);
/* There is no such pool: given back. */
void pool_slots_lose(struct pool_slots *slots);

/*
 * Servers that no client has had, for auth_query.
 *
 * What a client has left in a session (temporary tables, settings) must not
 * have a say in who gets in. So a login that asks a server for a secret waits
 * like any client, but takes a clean server only.
 */

/* An idle one to use next, or NULL. */
struct pool_server *clean_pick(const struct pool *p);
/* One that a client has had, to be closed in favour of a clean one; or NULL. */
struct pool_server *clean_pick_lent(const struct pool *p);
/* The client to serve next that takes any server, or NULL. */
struct pool_client *clean_pick_other(const struct pool *p);
/* Does a login wait for a clean server, and none is on its way? */
bool clean_is_wanted(const struct pool *p, usec_t now);

#endif
