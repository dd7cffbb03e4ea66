/* channels.h - the channels that each client of a pool listens to.
 *
 * One connection listens for all clients of a pool (listener.h). This is the
 * list of clients and channels, and of the source of each client's
 * notifications. (session_state = keep; spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#ifndef NOTIFY_CHANNELS_H
#define NOTIFY_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "proto/msg.h"

struct client;
struct pool;
struct server;
struct writer;

#define CHANNELS_NAME 64	/* bytes of a name, with its NUL */
#define CHANNELS_MAX 1000	/* per client; with more, it keeps its server */
#define CHANNELS_WAITING (1 << 20)	/* bytes of notifications, per client */

/* The source of all notifications of a client. */
enum hears {
	HEARS_SERVER,	/* the server on which it ran LISTEN, and which it
			 * keeps */
	HEARS_LISTENER,
	HEARS_NOBODY,	/* none: the listener's connection was lost */
};

enum subscribed {
	SUBSCRIBED,
	TO_COME,	/* after LISTEN: the listener does not hear it yet */
	TO_GO,		/* after UNLISTEN: earlier notifications are still on
			 * their way */
};

/* A channel of a pool. */
struct channel {
	UT_hash_handle hh;		/* of the listener, by name */
	struct subscription *first;	/* DL; NULL: no client listens to it */
	uint64_t list;			/* the number of the last list that
					 * contained it */
	uint8_t listened;		/* EAR_... bits of the connections that
					 * listen to it */
	uint8_t asked;			/* EAR_... bits of those that were asked
					 * to change that */
	char name[CHANNELS_NAME];
};

/* One client that listens to one channel. */
struct subscription {
	struct subscription *prev, *next;	/* DL of the channel */
	struct subscription *own_prev, *own_next;	/* DL of the client */
	struct channel *channel;		/* borrowed */
	struct listening *by;			/* borrowed */
	enum subscribed is;
};

/*
 * Which connection has told the mark of a move? At the mark, both streams are
 * the same.
 */
enum { MARK_SERVER = 1, MARK_LISTENER = 2, MARK_BOTH = 3 };

/* A client that listens. */
struct listening {
	struct listening *prev, *next;	/* DL of the listener */
	struct listener *listener;	/* borrowed */
	struct client *client;		/* borrowed */
	struct subscription *own;	/* DL */
	unsigned count;
	enum hears hears;
	enum hears becomes;	/* the source after the current move */
	uint32_t token;		/* the number of the mark of the current move;
				 * 0: none */
	uint8_t marks;		/* MARK_... of the current move */
	uint64_t settles;	/* the question to the listener whose answer
				 * completes a change; 0: no change */
	bool always;		/* any transaction of it may run LISTEN */
	bool expects;		/* its own notifications must come before the
				 * end of its transaction */
	struct writer waiting;	/* whole messages that wait until it is between
				 * two messages */
	struct writer ahead;	/* from beyond the mark that one connection has
				 * not told yet */
	struct writer early;	/* its own, told by a server that it does not
				 * hear, on a channel that only this server
				 * listens to */
};

/* The present connection, and the one that will replace it. */
enum { EAR_ONE = 1, EAR_OTHER = 2 };

enum replacing {
	REPLACING_NOTHING,
	REPLACING_MARKED,	/* the next connection sends the mark */
	REPLACING_TOLD,		/* ... and has told it */
	REPLACING_ASKED,	/* the present connection was asked a
				 * question */
	REPLACING_ANSWERED,	/* ... and has told everything before its
				 * answer */
};

/* The listener of a pool. It exists while it has a channel or a connection. */
struct listener {
	struct pool *pool;		/* borrowed */
	struct server *server;		/* borrowed; NULL: not connected */
	struct server *next;		/* borrowed; NULL: no replacement */
	uint8_t ear;			/* EAR_... bit of server */
	uint8_t marked, marking;	/* EAR_... bits of the connections that
					 * listen to marker, or were asked to */
	uint8_t past;			/* ... and of those beyond the mark of a
					 * replacement */
	uint8_t replacing;		/* enum replacing */
	uint32_t mark;			/* the number of its mark */
	struct writer ahead;		/* what next has told meanwhile */
	struct channel *channels;	/* uthash, by name */
	struct listening *clients;	/* DL */
	uint64_t last_list;		/* the last number of a list of names */
	uint32_t last_token;
	uint64_t to_ask;		/* the last question that a client waits
					 * for */
	uint64_t asked, answered;	/* the last question to server, and the
					 * last answer */
	bool look;			/* check whether a client's change is
					 * complete */
	char marker[CHANNELS_NAME];	/* the name of our own channel for
					 * marks */
};

/* Returns NULL if there is no memory. */
struct listener *channels_get_listener(struct pool *p);
/* Adds a channel to c. Returns 0, or -1: no memory, or not a valid name. */
int channels_add(struct client *c, const char *name, enum subscribed is);
/*
 * c listens only to the channels of this list of names, each with its NUL.
 * Others are removed, or become TO_GO if c hears the listener. Returns the
 * number of these others.
 */
unsigned channels_retain(struct client *c, const void *list, size_t len);
/*
 * Completes changes: TO_COME becomes listened, TO_GO is removed, and with the
 * last one c->listening.
 */
void channels_settle(struct client *c);
/* c listens to nothing any more. */
void channels_leave(struct client *c);
/* Returns NULL if c does not listen to the channel. */
struct subscription *channels_find(const struct client *c, const char *name);
unsigned channels_count(const struct client *c);
/* Is it a channel for marks, of this process or of another one? */
bool channels_is_marker(const char *name);
/* Frees channels that no client needs, and then *l if nothing is left. */
void channels_tidy(struct listener *l);

/* The source of g's notifications after the current move. */
static inline enum hears channels_source(const struct listening *g)
{
	return g->token != 0 ? g->becomes : g->hears;
}

#endif
