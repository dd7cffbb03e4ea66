/* client.h - a client connection: open, role, cancel key, close.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CLIENT_H
#define SESSION_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/net.h"
#include "base/timeouts.h"
#include "io/stream.h"
#include "pool/catalog.h"
#include "pool/close_reason.h"
#include "proto/startup.h"
#include "session/carry.h"
#include "session/client_role.h"
#include "session/relay_state.h"

struct auth_fetch;
struct baggage;
struct cancel_request;
struct client;
struct console;
struct err;
struct listening;
struct login;
struct params;
struct report;
struct roamer;
struct server;
struct sessions;
struct slots;
struct vacancy;

#define CLIENT_KEY_BYTES CANCEL_KEY_BYTES	/* the bytes by which it is
						 * found */
#define CLIENT_KEY_MAX CANCEL_KEY_MAX	/* protocol 3.2 */

struct client {
	struct stream stream;
	const struct client_role *role;	/* never NULL; see client_become() */
	struct pool_client pc;
	struct log_who who;
	struct timeout timer;		/* in the list of its role, or in
					 * idle_list */
	UT_hash_handle hh;		/* ss->by_key */
	struct cursor_node node;	/* of ss->all_clients */
	struct sessions *ss;		/* borrowed */
	struct database *db;		/* NULL until the start-up packet names
					 * it */
	struct user *user;		/* of the login; NULL until known */
	struct login *login;		/* owned by the role of that name */
	struct console *console;	/* owned by the role of that name */
	struct cancel_request *request;	/* owned by the role "cancel" */
	struct auth_fetch *fetch;	/* owned by the role "fetch" */
	struct params *params;		/* counted */
	struct baggage *baggage;	/* counted: its settings; NULL: those of
					 * the server's base */
	struct baggage *brought;	/* counted: settings of its start-up
					 * packet; NULL: none */
	struct slots *statements;	/* names of its prepared statements;
					 * NULL: none */
	struct listening *listening;	/* owned; NULL: it listens to nothing */
	struct roamer *roamer;		/* owned: after a move; else NULL */
	struct relay_state relay;
	struct carry carry;		/* bytes that were read and wait */
	struct message_rest rest;	/* of the message that was read last */
	struct net_addr addr;		/* of the other end */
	uint64_t id;
	usec_t born;			/* when it was accepted */
	uint32_t told;			/* version of pool.told that it was
					 * told; 0: none */
	usec_t request_time;		/* when bytes were last read */
	usec_t query_start;		/* 0: no query runs or waits */
	usec_t xact_start;		/* 0 = no transaction */
	usec_t waited;			/* of its current query, for a server */
	struct slow_query *slow;	/* owned, or NULL: the note for
					 * log_min_duration */
	struct vacancy *vacancy;	/* owned, or NULL: see vacate.h */
	bool notified;			/* query_wait_notify was sent */
	bool has_spoken;		/* has sent something */
	bool answered;			/* at login: its last message has been
					 * answered */
	bool welcomed;			/* it has got its ReadyForQuery */
	bool cut_short;			/* it has got only a part of a message:
					 * send nothing more */
	uint8_t refusals;		/* servers that refused its settings:
					 * see broker_sets_refused() */
	bool has_reserve_fd;		/* it has the last free descriptor */
	bool admin, own_user;		/* rights on the console */
	bool only_looks;	/* own_user that has given no command yet */
	bool counted;			/* counted by user_admit() */
	uint8_t replication;		/* enum replication */
	uint8_t key_len;		/* 0 until protocol and key are known */
	uint8_t key[CLIENT_KEY_MAX];	/* by which its queries are canceled */
	char *options;			/* owned; replication: for its server */
};

/*
 * A client without a role, of a connection that is accepted: nothing is known
 * of it, and it is not read. NULL: memory is short, and fd is closed.
 */
struct client *client_open(struct sessions *ss, int fd,
    const struct net_addr *peer);
/* The same of one that is ours: it has no connection, and is in no limit. */
struct client *client_open_own(struct sessions *ss);
/*
 * The one way from role to role: the role before leaves, the time-out of the
 * new one starts.
 */
void client_become(struct client *c, const struct client_role *role);
void client_enter(struct client *c, struct database *db, struct user *u);

/*
 * Closes c now, and frees it after the turn. The reason is logged.
 * client_fail() also sends it to the client as FATAL, with the code of the
 * reason.
 */
void client_close(struct client *c, enum close_reason reason);
void client_fail(struct client *c, enum close_reason reason);
/* The same with a text made at run time, or with another code. */
void client_close_cause(struct client *c, struct close_cause why);
void client_fail_cause(struct client *c, struct close_cause why);

/*
 * Gives c a random cancel key that no other client has, and by which c is
 * found. The bits that peers count down are not compared.
 */
void client_new_key(struct client *c);
/* Gives c the key from another process: len bytes, CLIENT_KEY_MAX at most. */
void client_set_key(struct client *c, const uint8_t *key, size_t len);
struct client *client_find(struct sessions *ss, const uint8_t *key,
    size_t len);

/*
 * Sends a message of a login. Returns 0, or -1: c was closed, because nothing
 * may be queued for it before it has logged in.
 */
int client_send_login(struct client *c, const struct iovec *v);

/* Sends a NoticeResponse. */
void client_send_notice(struct client *c, const struct report *r);

static inline struct client *client_of(struct pool_client *pc)
{
	return container_of(pc, struct client, pc);
}

/* Does the pool's welcome differ from the one that c got? */
static inline bool client_is_behind(const struct client *c)
{
	return c->told != 0 && c->told != c->pc.pool->told;
}

static inline bool client_logs_in(const struct client *c)
{
	return c->role->logging_in;
}

static inline bool client_is_open(const struct client *c)
{
	return c->stream.fd >= 0;
}

#endif
