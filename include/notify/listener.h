/* listener.h - the connection that listens for all clients of a pool.
 *
 * A client's LISTEN is PostgreSQL's affair: its server listens, and is kept,
 * until the listener does so as well. Then both tell each other a mark, at the
 * same place of all notifications: up to there they come from the server, from
 * there on from the listener. What a client changes later is asked of whatever
 * server it has; but it hears the listener all the time, and has the end of its
 * transaction when that has answered, too.
 * (session_state = keep; spec/pooling.md section 25)
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

/* End of the turn: open, close, listen to more or less. */
void listener_turn(struct sessions *ss, struct pool *p);
/* Login of s, the connection of a listener, is done. */
void listener_ready(struct server *s);
/* Is a mark of p on its way? */
bool listener_is_amid(const struct pool *p);
/* Is s the connection whose clients can hear it in another process? */
bool listener_moves(const struct server *s);
/* s, of another process, is the connection of a listener. */
void listener_inherit(struct server *s);
/* What s was asked is answered. */
void listener_answered(struct server *s);
/* s, perhaps such a connection, is closed. */
void listener_gone(struct server *s);
/* A whole NotificationResponse came on it. */
void listener_take(struct server *s, const uint8_t *m, size_t size);

/* The same from the server of c: is it to be sent on? */
bool listener_passes(struct client *c, const uint8_t *m, size_t size);

/* Has c to wait for the end of its transaction until it is settled what it
 * listens to? */
bool listener_withholds(const struct client *c, const struct server *s);
/* A probe of s is answered: what c listens to is known. */
void listener_note(struct client *c, struct server *s);
/*
 * A transaction of c on s is over: has it told itself something? Then, if there
 * is nothing else to find out, it is to have that ahead of the end.
 */
void listener_expect(struct client *c, const struct server *s);
void listener_await(struct client *c);
/* DISCARD ALL has left nothing. */
void listener_discarded(struct client *c);
/* That is noted, but not in force yet; then the role of c goes on. */
bool listener_is_unsettled(const struct client *c);
/* s, which c keeps to listen, may be given back soon: true: it was asked for
 * that, and c waits. */
bool listener_move(struct client *c, struct server *s);
/* What it was asked for that is answered: false: there is more to it. */
bool listener_moved(struct client *c, struct server *s);
/* A planned end of p's connection: another one takes its place before. */
void listener_renew(struct pool *p);

/*
 * What c is about to send may have an UNLISTEN: s must listen to the channels
 * of c before, so that it knows what is left; and what is behind it waits for
 * its answer. Returns false when it is not to be sent now, or s was closed.
 */
struct listener_request {
	struct client *c;
	struct server *s;
	const uint8_t *m;	/* the next message, header first */
	size_t size;		/* of it */
	size_t have;		/* bytes of it and behind it that are here */
};
bool listener_brings(const struct listener_request *r);
/* What it was asked for that is answered: the same. */
bool listener_brought(struct client *c, struct server *s);

#endif
