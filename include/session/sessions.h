/* sessions.h - what all clients and servers of the process share.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SESSIONS_H
#define SESSION_SESSIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/crypto.h"
#include "base/timeouts.h"
#include "conf/config.h"
#include "conf/mock.h"
#include "login/login_queue.h"
#include "pool/catalog.h"
#include "pool/departure.h"
#include "pool/lobby.h"
#include "pool/tally.h"
#include "proto/custom.h"
#include "proto/recall.h"
#include "relay/relay_schema.h"
#include "session/client_role.h"
#include "session/roam.h"
#include "session/slow.h"
#include "sql/sql_seen.h"

struct admin;
struct auth_cache;
struct auth_fetch;
struct baggage_table;
struct carried;
struct client;
struct dns;
struct host_word;
struct login;
struct loop;
struct offload;
struct params_table;
struct passwords;
struct peer;
struct prepared_table;
struct server;
struct server_ops;
struct tls_setup;
struct unnamed;

enum shutdown_mode {
	SHUTDOWN_NONE,
	SHUTDOWN_WAIT_FOR_SERVERS,
	SHUTDOWN_WAIT_FOR_CLIENTS,
	SHUTDOWN_DRAIN,
};

/* Logins begun in databases whose names may be invented; see login_guess.h. */
struct guessing {
	pthread_mutex_t lock;		/* of several workers */
	struct login *begun;		/* DL by guess_next: of all */
	unsigned count;			/* of all, in tentative databases */
};

/* What most secrets look like that auth_query has found; see login_shape.h. */
struct lookups {
	pthread_mutex_t lock;		/* of several workers */
	struct mock_shape shape;
	unsigned votes;			/* by how many shape leads */
};

struct sessions {
	struct loop *loop;
	struct catalog *catalog;	/* owned by the app */
	struct dns *dns;		/* owned by the app */
	struct offload *offload;	/* owned by the app */
	struct params_table *params;	/* owned by the app */
	struct baggage_table *baggage;	/* owned by the app */
	struct custom *custom, own_custom;	/* the first worker's; or NULL */
	struct recall recall;		/* what texts have set */
	struct sql_seen seen;		/* texts that leave nothing */
	struct prepared_table *prepared;	/* owned by the app */
	struct unnamed *unnamed;	/* owned by the app; NULL: none yet */
	struct schemas *schemas, own_schemas;	/* the first worker's; or NULL */
	struct passwords *passwords;	/* owned by the app */
	int runner;			/* borrowed: socket; see io/runner.h */
	struct tls_setup *tls;		/* in force; owned by the app */
	struct client_ops client_ops;
	const struct server_ops *server_ops;
	struct admin *admin;		/* of the console; owned by the app */
	void *app;			/* of client_ops.return_reserve */

	struct client *by_key;		/* uthash: clients by cancel key */
	const struct carried *carried;	/* keys of several workers; NULL */
	struct roaming *roaming, own_roaming;	/* the first worker's; or NULL */
	struct peer *peers;		/* uthash: peers asked already */
	struct cursor_list all_clients, all_servers;	/* the oldest first */
	uint64_t last_id;		/* of clients and servers */
	uint64_t last_unnamed;		/* serial of an unnamed statement */
	unsigned worker, others;	/* which one we are; how many more */
	unsigned logins;		/* clients that are logging in */
	struct login_queue login_queue;	/* logins to be worked on next */
	struct loop_task broker_task;	/* pools are left for the next turn */
	struct host_word *words;	/* owned, DL: said to others, or by them */
	struct loop_task word_task;	/* to others in the next turn */
	struct lobby lobby;		/* strangers, and what they may cost */
	usec_t held_since;		/* clients wait for memory; 0 = none */
	usec_t shed_told;		/* the last line of the log about it */
	bool shed_full;			/* memory was at its end a tick ago */
	struct login *guessers;		/* DL: wait, see login_guess.h */
	struct guessing *guessing;	/* the first worker's; NULL: own_guessing */
	struct guessing own_guessing;	/* have begun */
	unsigned guesses;		/* begun in tentative databases here */
	unsigned servers;		/* server connections of any state */
	uint64_t servers_in, servers_out, clients_in, clients_out; /* by mail */
	enum shutdown_mode shutdown;
	usec_t shutdown_since;		/* when that was asked for */
	struct departure departure;	/* of SHUTDOWN_DRAIN */
	struct tally tally;		/* what SHOW COUNTERS shows */
	struct tally_minute failed_logins;	/* of clients */
	struct slow_list slow;		/* room for what is told of queries */
	struct random_pool random;	/* for cancel keys */
	bool forced;		/* each server that is released is handed over */
	bool suspended;			/* SUSPEND: nothing moves */
	bool still;			/* ... nor does any login */
	bool cancels_held;		/* ... nor is a cancel sent */
	uint8_t mock_salt[32];		/* for users without one (SCRAM) */
	struct mock_shape mock_shape;	/* of the auth file's secrets */
	struct mock_shape lookup_shape;	/* of lookups, as of the last login */
	struct lookups *lookups;	/* the first worker's; NULL: own_lookups */
	struct lookups own_lookups;	/* of auth_query's secrets */
	struct auth_cache *answers;	/* owned: of auth_query; NULL: none yet */
	struct auth_fetch *fetches;	/* owned, DL: another worker has no room */

	/* time-outs whose members all have the same duration */
	struct timeout_list login_list;		/* clients since connect */
	struct timeout_list idle_list;		/* clients without server */
	bool watch_idle;			/* ... if anybody has a limit */
	struct timeout_list connect_list;	/* servers since launch */
	struct timeout_list cancel_list;	/* cancels not sent on */
	struct timeout_list peer_list;		/* connections to peers */
	struct timeout_list own_query_list;	/* servers: own queries but */
	struct timeout_list rollback_list;	/* for OWN_QUERY_ROLLBACK */
	struct timeout_list vacate_list;	/* see vacate.h */
	struct timeout_list answer_list;	/* see login_cached.h */

	usec_t born;			/* when this process began: wall clock */
};

static inline const struct settings *sessions_settings(
    const struct sessions *ss)
{
	return &ss->catalog->config->set;
}

/* This worker's part of max_prepared_statement_memory; 0 = there is no limit. */
static inline size_t sessions_statement_memory(const struct sessions *ss)
{
	const size_t all = sessions_settings(ss)->max_prepared_statement_memory;
	const size_t part = all / (1 + ss->others);

	return all > 0 && part == 0 ? 1 : part;
}

/* The longest length word to accept: max_packet_size, or most if it is less. */
static inline uint32_t sessions_longest(const struct sessions *ss,
    uint32_t most)
{
	const uint32_t max = sessions_settings(ss)->max_packet_size;

	return max < most ? max : most;
}

/* Ids tell the workers apart: each counts from its own number in steps. */
static inline uint64_t sessions_next_id(struct sessions *ss)
{
	return ss->last_id += 1 + ss->others;
}

/* The same of unnamed statements. */
static inline uint64_t sessions_next_unnamed(struct sessions *ss)
{
	return ss->last_unnamed += 1 + ss->others;
}

/* Those up to last have come from elsewhere. */
static inline void sessions_skip_unnamed(struct sessions *ss, uint64_t last)
{
	const uint64_t step = 1 + ss->others;

	if (last > ss->last_unnamed)
		ss->last_unnamed = last - last % step + step + ss->worker;
}

/* A shutdown that waits is not taken back; a drain goes on for its time. */
static inline bool sessions_may_resume(const struct sessions *ss)
{
	return ss->shutdown == SHUTDOWN_NONE || ss->shutdown == SHUTDOWN_DRAIN;
}

#endif
