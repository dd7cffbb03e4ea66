/* listener.h - the connection that listens for all clients of a pool.
 *
 * PostgreSQL runs a client's LISTEN: its server listens, and the client keeps
 * it until the listener listens, too. Then both connections notify the same
 * mark. Up to the mark the client's notifications come from its server, after
 * it from the listener. A later change is asked of whatever server the client
 * has, while it continues to hear the listener. The end of such a transaction
 * is withheld until the listener has answered. (session_state = keep;
 * spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#ifndef NOTIFY_LISTENER_H
#define NOTIFY_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct pool;
struct server;
struct sessions;

/*
 * To be called at the end of a turn: opens, closes, and synchronizes the
 * listener.
 */
void listener_turn(struct sessions *ss, struct pool *p);
/* The login of s, the connection of a listener, is complete. */
void listener_ready(struct server *s);
/* Is a mark of p on its way? */
bool listener_is_amid(const struct pool *p);
/* Can the clients of this connection hear it in another process? */
bool listener_moves(const struct server *s);
/* s, which comes from another process, is the connection of a listener. */
void listener_inherit(struct server *s);
/* s has answered its question. */
void listener_answered(struct server *s);
/* s was closed; it may have been such a connection. */
void listener_gone(struct server *s);
/*
 * Takes a whole NotificationResponse of the listener, and sends it to the
 * clients.
 */
void listener_take(struct server *s, const uint8_t *m, size_t size);

/* Takes one from the server of c. Must it be sent to c? */
bool listener_passes(struct client *c, const uint8_t *m, size_t size);

/* Must the end of c's transaction wait until its channels are settled? */
bool listener_withholds(const struct client *c, const struct server *s);
/* The probe of s is complete: notes the channels of c. */
void listener_note(struct client *c, struct server *s);
/*
 * A transaction of c on s is over. If c may have notified itself, and nothing
 * else must be asked, its notification must come before the end.
 */
void listener_expect(struct client *c, const struct server *s);
void listener_await(struct client *c);
/* DISCARD ALL has removed all channels of c. */
void listener_discarded(struct client *c);
/*
 * The change is noted, but not in force yet. The role of c continues when it
 * is.
 */
bool listener_is_unsettled(const struct client *c);
/*
 * c keeps s in order to listen. True: the move to the listener has begun, and c
 * waits.
 */
bool listener_move(struct client *c, struct server *s);
/* An own query of the move is complete. False: there is more to do. */
bool listener_moved(struct client *c, struct server *s);
/*
 * p's connection will be closed as planned: another one takes its place first.
 */
void listener_renew(struct pool *p);

/*
 * c's next request may contain an UNLISTEN. First s must listen to the channels
 * of c, so that PostgreSQL knows what is left. Requests after it wait for its
 * answer. Returns false if the request must not be sent now, or if s was
 * closed.
 */
struct listener_request {
	struct client *c;
	struct server *s;
	const uint8_t *m;	/* the next message, with its header */
	size_t size;		/* the size of the message */
	size_t have;		/* bytes of it, and after it, that have
				 * arrived */
};
bool listener_brings(const struct listener_request *r);
/* The own query that brings the channels is complete. As listener_moved(). */
bool listener_brought(struct client *c, struct server *s);

#endif
