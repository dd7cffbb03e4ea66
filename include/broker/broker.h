/* broker.h - joins and parts clients and servers, as the pools decide.
 * SPDX-License-Identifier: ISC */
#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

/*
 * Which module lets a client be read: one that makes a client wait (broker, a
 * login, auth_query) pauses the stream of the client, and calls go_on() of the
 * role, or answered() of the login, when the wait is over. Only the role resumes
 * the stream: update() in relay.c, on_answered() and the like in login*.c.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"
#include "pool/close_reason.h"

struct burst;
struct client;
struct iovec;
struct database;
struct host_word;
struct net_addr;
struct pool;
struct server;
struct sessions;
struct limit_share;

/*
 * c has work for a server, which ahead begins with.
 * Returns true when it is linked to a clean one, ready to be written to; false
 * when it waits (broker_serve resumes it) or was closed.
 */
bool broker_acquire(struct client *c, const struct burst *ahead);

/*
 * c, which logs in, wants a server of c->pc.pool for its auth_query: one is
 * linked and auth_query_send() called, or it waits. May close c.
 */
void broker_look_up(struct client *c);

/* c is here, perhaps with a server, by no doing of ours: serve it. */
void broker_adopt(struct client *c);
/* c, which is waiting, wants no server any more. */
void broker_leave_queue(struct client *c);
/* s, which is linked, is free again (spec/pooling.md section 9). */
void broker_release(struct server *s);
/*
 * Give s, linked to c and idle or in a transaction, the parameters of c where
 * they differ. Returns true when nothing is to be done; else c waits, or was
 * closed.
 */
bool broker_same_params(struct client *c, struct server *s);
/*
 * The server has them: c has the server's spelling of its values, so that the
 * next comparison is equal. 0, or -1: no memory.
 */
int broker_adopt_params(struct client *c, const struct server *s);
/*
 * s, which is linked, refuses what it is to be given for its client. Returns
 * whether s goes on, without its client; else it was closed.
 */
bool broker_sets_refused(struct server *s, struct close_cause why);
/* An unlinked server has nothing to do any more, for us or for a login. */
void broker_free(struct server *s);
/* A server that is stained is cleaned (spec/pooling.md section 25). */
void broker_clean(struct server *s);
/* A row of the answer to that: size bytes of a DataRow. */
void broker_clean_row(struct server *s, const void *row, size_t size);
/* A step of the cleaning is done: is s asked for another one? May close s. */
bool broker_clean_goes_on(struct server *s);
/* c leaves (section 13): its server is released or closed. */
void broker_client_gone(struct client *c);
/* Login of s is done. */
void broker_server_ready(struct server *s);
/* s is closed; if its login failed, the clients that wait may be told. */
void broker_server_gone(struct server *s, struct close_cause why);

/* c is authenticated: send the welcome, or wait for a server to tell it. */
void broker_welcome(struct client *c, const struct iovec *first);

/* Look at p again before the turn ends. */
void broker_touch(struct sessions *ss, struct pool *p);
/* The same, of p and whom it shares a limit with: a server has come to p. */
void broker_arrived(struct sessions *ss, struct pool *p);
/* End of the turn: serve, launch, pause, for the pools touched. */
void broker_turn(struct sessions *ss);
/* Another worker calls for s: it has made room, or waits for some. */
void broker_called(struct sessions *ss, struct limit_share *s);

/* Mark as obsolete, as RECONNECT does (spec/admin-console.md section 4.6). */
void broker_reconnect_pool(struct sessions *ss, struct pool *p);
void broker_reconnect(struct sessions *ss, struct database *db);
/* Busy servers of db (NULL = all) are to go as soon as they are released. */
void broker_drain(struct sessions *ss, const struct database *db);
/*
 * The name host is at addr no more: so go the servers there, of the databases
 * that have no other host. (spec/config-files.md section 12)
 */
void broker_address_lost(struct sessions *ss, const char *host,
    const struct net_addr *addr);
/* The host of this server is not what p wants: its other servers there go. */
void broker_retire_host(struct pool *p, const struct server *of);
/*
 * s has logged in, and fits: where one host only can be the primary, what is
 * connected to those that were passed over for it ends, whatever it does.
 */
void broker_host_fits(const struct server *s);
/* The host of s, which is in use, is a standby now, or no longer one: so go s,
 * and all others there of pools that choose by target_session_attrs. */
void broker_host_changed(struct server *s, bool standby);
/* The client of s wants this database of its host for itself: idle servers go. */
void broker_vacate(const struct server *s, char *database);
/* What was learned in these ways holds at other workers, too. One of them says w,
 * which becomes ours; what could not be said or done yet is done now. */
void broker_hear(struct sessions *ss, struct host_word *w);
void broker_pass_words(struct sessions *ss);
/* The loop is to be freed. */
void broker_forget_words(struct sessions *ss);
/* A host was drained: its servers are to go. */
void broker_drain_hosts(struct sessions *ss);
/*
 * Close all clients, the console's too; but none that brings a cancel request.
 */
void broker_fail_clients(struct sessions *ss, enum close_reason why);
/* Close all clients (reason "database removed") and servers; drop the pool. */
void broker_kill_pool(struct sessions *ss, struct pool *p);
/* All its pools, and the clients that log in to it. */
void broker_kill_database(struct sessions *ss, struct database *db);
/* PAUSE began or RESUME came: close idle servers, or serve the queues. */
void broker_pause_changed(struct sessions *ss);
/*
 * What made logins of the pool(s) fail may have been mended: the next attempts
 * are due at once. db NULL = all.
 */
void broker_retry(struct sessions *ss, const struct database *db);
/* Is no server of the pool(s) busy any more? db NULL = all. */
bool broker_is_quiet(const struct sessions *ss, const struct database *db);

#endif
