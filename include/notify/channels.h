/* channels.h - the channels that each client of a pool listens to.
 *
 * One connection listens for all clients of a pool (listener.h): here is for
 * whom, and where the notifications of each come from.
 * (session_state = keep; spec/pooling.md section 25)
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

#define CHANNELS_NAME 64	/* bytes of a channel's name, with its NUL */
#define CHANNELS_MAX 1000	/* of a client; with more it keeps its server */
#define CHANNELS_WAITING (1 << 20)	/* bytes of notifications, per client */

/* Where a client has its notifications from: all of them. */
enum hears {
	HEARS_SERVER,	/* the server where it said LISTEN, which it keeps */
	HEARS_LISTENER,
	HEARS_NOBODY,	/* the listener's connection was lost */
};

enum subscribed {
	SUBSCRIBED,
	TO_COME,	/* said LISTEN: the listener is asked to */
	TO_GO,		/* said UNLISTEN: what was before that is on its way */
};

/* One of a pool's channels. */
struct channel {
	UT_hash_handle hh;		/* of the listener's, by name */
	struct subscription *first;	/* DL; NULL: nobody wants it */
	uint64_t list;			/* the last one that it was in */
	uint8_t listened;		/* EAR_...: these listen to it */
	uint8_t asked;			/* these were asked for the opposite */
	char name[CHANNELS_NAME];
};

/* A client that listens to a channel. */
struct subscription {
	struct subscription *prev, *next;	/* of the channel: DL */
	struct subscription *own_prev, *own_next;	/* of the client: DL */
	struct channel *channel;		/* borrowed */
	struct listening *by;			/* borrowed */
	enum subscribed is;
};

/* Who has told the mark of a move: where both streams are the same. */
enum { MARK_SERVER = 1, MARK_LISTENER = 2, MARK_BOTH = 3 };

/* A client that listens. */
struct listening {
	struct listening *prev, *next;	/* of the listener's: DL */
	struct listener *listener;	/* borrowed */
	struct client *client;		/* borrowed */
	struct subscription *own;	/* DL */
	unsigned count;
	enum hears hears;
	enum hears becomes;	/* by the move under way */
	uint32_t token;		/* of that; 0: none */
	uint8_t marks;		/* of it: MARK_... */
	uint64_t settles;	/* with the answer to this question to the
				 * listener; 0: nothing is to */
	bool always;		/* any transaction may have a LISTEN */
	bool expects;		/* its own notifications, ahead of the end */
	struct writer waiting;	/* whole messages, until no other is cut */
	struct writer ahead;	/* past the mark, which one has not told yet */
	struct writer early;	/* its own, told by a server that it listens on
				 * only now, and does not hear */
};

/* The connection that listens, and one that is to take its place. */
enum { EAR_ONE = 1, EAR_OTHER = 2 };

enum replacing {
	REPLACING_NOTHING,
	REPLACING_MARKED,	/* the next one says the mark */
	REPLACING_TOLD,		/* ... and has told it */
	REPLACING_ASKED,	/* the one before is asked for anything */
	REPLACING_ANSWERED,	/* ... and has told all that was before */
};

/* Of a pool; it exists for as long as it has a channel, or a connection. */
struct listener {
	struct pool *pool;		/* borrowed */
	struct server *server;		/* borrowed; NULL: none */
	struct server *next;		/* borrowed; NULL: none */
	uint8_t ear;			/* EAR_...: of server */
	uint8_t marked, marking;	/* EAR_...: these listen to marker, or
					 * were asked to */
	uint8_t past;			/* ... and are past the mark of a
				 * replacement */
	uint8_t replacing;		/* enum replacing */
	uint32_t mark;			/* of that */
	struct writer ahead;		/* what next tells meanwhile */
	struct channel *channels;	/* uthash: by name */
	struct listening *clients;	/* DL */
	uint64_t last_list;		/* of names: each has a number */
	uint32_t last_token;
	uint64_t to_ask;		/* the last question that is waited for */
	uint64_t asked, answered;	/* the last one of server */
	bool look;			/* is it settled now for a client? */
	char marker[CHANNELS_NAME];	/* a channel of our own: no client's */
};

/* NULL: no memory. */
struct listener *channels_get_listener(struct pool *p);
/* c listens to that, too. 0, or -1: no memory, or no name of a channel. */
int channels_add(struct client *c, const char *name, enum subscribed is);
/*
 * c listens to these alone: a list of names, each with its NUL. The others are
 * gone, or TO_GO, if c hears the listener. Returns how many these are.
 */
unsigned channels_retain(struct client *c, const void *list, size_t len);
/* What was to come is there, what was to go is gone: maybe c->listening. */
void channels_settle(struct client *c);
/* c listens to nothing. */
void channels_leave(struct client *c);
/* NULL: c does not listen to it. */
struct subscription *channels_find(const struct client *c, const char *name);
unsigned channels_count(const struct client *c);
/* Is that a channel of our own, or of another process like us? */
bool channels_is_marker(const char *name);
/* Drop what nobody needs: *l, too, where that is all. */
void channels_tidy(struct listener *l);

/* Where is it to have them from, once a move under way is over? */
static inline enum hears channels_source(const struct listening *g)
{
	return g->token != 0 ? g->becomes : g->hears;
}

#endif
