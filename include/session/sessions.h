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

/* Logins in databases whose names may be invented; see login_guess.h. */
struct guessing {
	pthread_mutex_t lock;		/* for several workers */
	struct login *begun;		/* DL by guess_next */
	unsigned count;			/* of all logins in tentative
					 * databases */
};

/* The usual form of secrets that auth_query returns; see login_shape.h. */
struct lookups {
	pthread_mutex_t lock;		/* for several workers */
	struct mock_shape shape;
	unsigned votes;			/* by how much the form leads */
};

struct sessions {
	struct loop *loop;
	struct catalog *catalog;	/* owned by the app */
	struct dns *dns;		/* owned by the app */
	struct offload *offload;	/* owned by the app */
	struct params_table *params;	/* owned by the app */
	struct baggage_table *baggage;	/* owned by the app */
	struct custom *custom, own_custom;	/* of the first worker; or
						 * NULL */
	struct recall recall;		/* effects of known texts */
	struct sql_seen seen;		/* texts without effects */
	struct prepared_table *prepared;	/* owned by the app */
	struct unnamed *unnamed;	/* owned by the app; NULL: none yet */
	struct schemas *schemas, own_schemas;	/* of the first worker; or
						 * NULL */
	struct passwords *passwords;	/* owned by the app */
	int runner;			/* borrowed: a socket; see
					 * io/runner.h */
	struct tls_setup *tls;		/* in force; owned by the app */
	struct client_ops client_ops;
	const struct server_ops *server_ops;
	struct admin *admin;		/* of the console; owned by the app */
	void *app;			/* of client_ops.return_reserve */

	struct client *by_key;		/* uthash, by cancel key */
	const struct carried *carried;	/* keys from another process; NULL:
					 * none */
	struct roaming *roaming, own_roaming;	/* of the first worker; or
						 * NULL */
	struct peer *peers;		/* uthash: peers that were asked */
	struct cursor_list all_clients, all_servers;	/* the oldest first */
	uint64_t last_id;		/* of clients and servers */
	uint64_t last_unnamed;		/* serial of an unnamed statement */
	unsigned worker, others;	/* our number; the number of others */
	unsigned logins;		/* clients in their login */
	struct login_queue login_queue;	/* logins that go on in the next turn */
	struct loop_task broker_task;	/* pools that must wait for the next
					 * turn */
	struct host_word *words;	/* owned, DL: messages to and from other
					 * workers */
	struct loop_task word_task;	/* sends them in the next turn */
	struct lobby lobby;		/* unauthenticated clients and their
					 * limits */
	usec_t held_since;		/* since when clients wait for memory;
					 * 0: none */
	usec_t shed_told;		/* when the log was last told */
	bool shed_full;			/* memory was exhausted a tick ago */
	struct login *guessers;		/* DL: logins that wait, see
					 * login_guess.h */
	struct guessing *guessing;	/* of the first worker; NULL:
					 * own_guessing */
	struct guessing own_guessing;	/* logins that have begun */
	unsigned guesses;		/* in tentative databases of this
					 * worker */
	unsigned servers;		/* server connections of any state */
	uint64_t servers_in, servers_out, clients_in, clients_out; /* moves */
	enum shutdown_mode shutdown;
	usec_t shutdown_since;		/* when the shutdown was requested */
	struct departure departure;	/* of SHUTDOWN_DRAIN */
	struct tally tally;		/* what SHOW COUNTERS shows */
	struct tally_minute failed_logins;	/* of clients */
	struct slow_list slow;		/* room for what is told of queries */
	struct random_pool random;	/* for cancel keys */
	bool forced;		/* test knob: every released server moves */
	bool suspended;			/* SUSPEND: no session moves */
	bool still;			/* ... nor does any login */
	bool cancels_held;		/* ... nor is a cancel request sent */
	uint8_t mock_salt[32];		/* for users without one (SCRAM) */
	struct mock_shape mock_shape;	/* of the auth file's secrets */
	struct mock_shape lookup_shape;	/* of answers of auth_query, at the last
					 * login */
	struct lookups *lookups;	/* of the first worker; NULL:
					 * own_lookups */
	struct lookups own_lookups;	/* of auth_query's answers */
	struct auth_cache *answers;	/* owned: answers of auth_query; NULL:
					 * none yet */
	struct auth_fetch *fetches;	/* owned, DL: questions for another
					 * worker that has no room */
	struct auth_fetch *asking;	/* DL: those that a client of this worker
					 * asks */

	/* lists of time-outs with one duration each */
	struct timeout_list login_list;		/* clients since connect */
	struct timeout_list idle_list;		/* clients without server */
	bool watch_idle;			/* ... if a user has a limit */
	struct timeout_list connect_list;	/* servers since launch */
	struct timeout_list cancel_list;	/* cancels not sent on */
	struct timeout_list peer_list;		/* connections to peers */
	struct timeout_list own_query_list;	/* servers: own queries, except
						 * ROLLBACK */
	struct timeout_list rollback_list;	/* for OWN_QUERY_ROLLBACK */
	struct timeout_list vacate_list;	/* see vacate.h */
	struct timeout_list answer_list;	/* see login_cached.h */

	usec_t born;			/* wall clock at the start of the
					 * process */
};

static inline const struct settings *sessions_settings(
    const struct sessions *ss)
{
	return &ss->catalog->config->set;
}

/* This worker's share of max_prepared_statement_memory; 0: no limit. */
static inline size_t sessions_statement_memory(const struct sessions *ss)
{
	const size_t all = sessions_settings(ss)->max_prepared_statement_memory;
	const size_t part = all / (1 + ss->others);

	return all > 0 && part == 0 ? 1 : part;
}

/* The longest message to accept: max_packet_size, or `most` if that is less. */
static inline uint32_t sessions_longest(const struct sessions *ss,
    uint32_t most)
{
	const uint32_t max = sessions_settings(ss)->max_packet_size;

	return max < most ? max : most;
}

/* Each worker counts in steps from its own number, so that ids are unique. */
static inline uint64_t sessions_next_id(struct sessions *ss)
{
	return ss->last_id += 1 + ss->others;
}

/* The same for unnamed statements. */
static inline uint64_t sessions_next_unnamed(struct sessions *ss)
{
	return ss->last_unnamed += 1 + ss->others;
}

/* Serials up to `last` came from elsewhere. */
static inline void sessions_skip_unnamed(struct sessions *ss, uint64_t last)
{
	const uint64_t step = 1 + ss->others;

	if (last > ss->last_unnamed)
		ss->last_unnamed = last - last % step + step + ss->worker;
}

/* A shutdown that waits is final. A drain continues until its time is over. */
static inline bool sessions_may_resume(const struct sessions *ss)
{
	return ss->shutdown == SHUTDOWN_NONE || ss->shutdown == SHUTDOWN_DRAIN;
}

#endif
