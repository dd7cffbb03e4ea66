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

#define CLIENT_KEY_BYTES CANCEL_KEY_BYTES	/* by which it is found */
#define CLIENT_KEY_MAX CANCEL_KEY_MAX	/* protocol 3.2 */

struct client {
	struct stream stream;
	const struct client_role *role;	/* never NULL; see client_become() */
	struct pool_client pc;
	struct log_who who;
	struct timeout timer;		/* of its role's list, or idle_list */
	UT_hash_handle hh;		/* ss->by_key */
	struct cursor_node node;	/* of ss->all_clients */
	struct sessions *ss;		/* borrowed */
	struct database *db;		/* NULL until the start-up names it */
	struct user *user;		/* login user; NULL until known */
	struct login *login;		/* owned by the role of that name */
	struct console *console;	/* owned by the role of that name */
	struct cancel_request *request;	/* owned by the role "cancel" */
	struct auth_fetch *fetch;	/* owned by the role "fetch" */
	struct params *params;		/* counted */
	struct baggage *baggage;	/* counted; NULL: as its server's base */
	struct baggage *brought;	/* counted: its defaults; NULL: none */
	struct slots *statements;	/* protocol-level names; NULL = none */
	struct listening *listening;	/* owned; NULL: to nothing */
	struct roamer *roamer;		/* owned: it has moved; NULL */
	struct relay_state relay;
	struct carry carry;		/* read, but not consumed yet */
	struct message_rest rest;	/* of what was read last */
	struct net_addr addr;		/* of the peer */
	uint64_t id;
	usec_t born;			/* accepted */
	uint32_t told;			/* what of pool.told; 0: nobody knows */
	usec_t request_time;		/* last bytes read */
	usec_t query_start;		/* 0 = no query runs or waits */
	usec_t xact_start;		/* 0 = no transaction */
	usec_t waited;			/* of query_start, for a server */
	struct slow_query *slow;	/* owned; what is told of it; NULL */
	struct vacancy *vacancy;	/* owned; NULL: no database is wanted */
	bool notified;			/* query_wait_notify was sent */
	bool has_spoken;		/* has sent something */
	bool answered;			/* logging in: its last bytes have a reply */
	bool welcomed;			/* has its ReadyForQuery */
	bool cut_short;			/* a message to it was: say no more */
	uint8_t refusals;		/* of servers: see broker_sets_refused() */
	bool has_reserve_fd;		/* has the last descriptor */
	bool admin, own_user;		/* console rights */
	bool only_looks;	/* own_user who has given no command yet */
	bool counted;			/* admitted: see user_admit() */
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
 * Close now, free after the turn. reason goes to the log; client_fail() also
 * sends it to the client as FATAL before, with the code of the reason.
 */
void client_close(struct client *c, enum close_reason reason);
void client_fail(struct client *c, enum close_reason reason);
/* The same, with a text that is made at run time, or with another code. */
void client_close_cause(struct client *c, struct close_cause why);
void client_fail_cause(struct client *c, struct close_cause why);

/*
 * Draw a cancel key that no other client has, and be found by it: by all of
 * it, but for the bits that peers count down.
 */
void client_new_key(struct client *c);
/* The key that another process gave it: len bytes, CLIENT_KEY_MAX at most. */
void client_set_key(struct client *c, const uint8_t *key, size_t len);
struct client *client_find(struct sessions *ss, const uint8_t *key,
    size_t len);

/*
 * Send what belongs to a login. 0, or -1: c was closed, as nobody may make us
 * queue before the login is over.
 */
int client_send_login(struct client *c, const struct iovec *v);

/* NoticeResponse. */
void client_send_notice(struct client *c, const struct report *r);

static inline struct client *client_of(struct pool_client *pc)
{
	return container_of(pc, struct client, pc);
}

/* Has the pool a welcome that tells other things than c was told? */
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
