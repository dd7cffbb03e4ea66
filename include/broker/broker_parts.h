/* broker_parts.h - what the files of the broker share; for broker*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef BROKER_BROKER_PARTS_H
#define BROKER_BROKER_PARTS_H

#include <stdbool.h>

#include "base/time.h"
#include "pool/close_reason.h"
#include "pool/members.h"

struct burst;
struct client;
struct pool;
struct server;
struct sessions;

/* As long as there are both, the oldest waiter gets the next server. */
void broker_serve(struct sessions *ss, struct pool *p);
/* Is there nothing to be SET for c in s? */
bool broker_has_same(const struct client *c, const struct server *s);
/*
 * As broker_same_params(), of a server that is lent just now, for what ahead
 * begins with: that may go at once, behind the SETs of s->keep.flight. With
 * them goes what lastval() and currval() of others are forgotten by.
 */
bool broker_sets_at_first(struct client *c, struct server *s,
    const struct burst *ahead);
/* c gives back the server it had. */
void broker_part(struct client *c);
/* What a client had in s is over: may it have left something there? */
void broker_stain(struct server *s);
/* s has no client: where does it go? May close s. */
void broker_settle(struct server *s);
/* c waits for a server from now on, and is not read. */
void broker_queue(struct client *c, enum client_state state);
/* c has no server any more, and has asked for none. */
void broker_idle_begins(struct client *c);
/* The first server told what the clients have waited for. */
void broker_welcome_all(struct pool *p);
/* c, which is about to be served, was told other parameters of the server. */
void broker_tell_news(struct client *c);
/* Close all clients of a state with this error. */
void broker_fail_all(struct pool *p, enum client_state state,
    struct close_cause why);
/*
 * One more attempt has failed, in a pool whose attempts fail since then: the
 * clients that came meanwhile waited for it alone, and get its error.
 */
void broker_retry_failed(struct sessions *ss, struct pool *p, usec_t since);
/* c gets no server. Before it has proved who it is, it is not told why. */
void broker_refuse(struct client *c, struct close_cause why);
/*
 * A server of p is idle now, or gone: where a limit was reached, the pool
 * whose turn it is may be waiting for a victim, or a slot.
 */
void broker_touch_next(struct sessions *ss, const struct pool *p);

/* --- broker_release.c --- */

/* p waits for room under its limits. */
void broker_join_limits(struct sessions *ss, struct pool *p);
/* Do clients of another worker come before those of p? They are served. */
bool broker_is_rival_first(struct sessions *ss, const struct pool *p);
/* Clients of other parts of p wait, and none of p: its idle servers leave. */
void broker_give_idle(struct pool *p);
/* At the end of a turn, those that are for others leave p. */
void broker_send_off(struct sessions *ss, struct pool *p);
/* p finds no room: other workers may have servers to spare. */
void broker_ask_others(struct sessions *ss, struct pool *p);

#endif
