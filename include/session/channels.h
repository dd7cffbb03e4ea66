/* channels.h - which client listens to which channels of its pool.
 *
 * One connection listens for all clients of a pool (listener.h): here is for
 * whom, and where the notifications of each come from.
 * (session_state = keep; spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CHANNELS_H
#define SESSION_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "proto/writer.h"

struct client;
struct pool;
struct server;

#define CHANNELS_NAME 64	/* bytes of a channel's name, with its NUL */
#define CHANNELS_MAX 1000	/* of a client; with more it keeps its server */
#define CHANNELS_WAITING (1 << 20)	/* bytes of notifications, per client */

/* Where a client has the notifications of a channel from. */
enum channel_from {
	FROM_SERVER,	/* the server where it said LISTEN, which it keeps */
	FROM_LISTENER,
	FROM_NOBODY,	/* the listener's connection was lost */
	TO_LISTENER,	/* the server, up to a mark; from there the listener */
	TO_SERVER,	/* the other way round */
};

/* One of a pool's channels. */
struct channel {
	UT_hash_handle hh;		/* of the listener's, by name */
	struct subscription *first;	/* DL; NULL: nobody wants it */
	uint64_t list;			/* the last one that it was in */
	bool listened;			/* the connection listens to it */
	bool asked;			/* to do the opposite */
	char name[CHANNELS_NAME];
};

/* A client that listens to a channel. */
struct subscription {
	struct subscription *prev, *next;	/* of the channel: DL */
	struct subscription *own_prev, *own_next;	/* of the client: DL */
	struct channel *channel;		/* borrowed */
	struct listening *by;			/* borrowed */
	enum channel_from from;
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
	uint32_t token;		/* of the move under way; 0: none */
	uint8_t marks;		/* of it: MARK_... */
	bool to_server;		/* it is one of that kind */
	bool waits;		/* what the client sends: for its end */
	bool always;		/* any transaction may have a LISTEN */
	struct writer waiting;	/* whole messages, until no other is cut */
	struct writer ahead;	/* past the mark, which one has not told yet */
};

/* Of a pool; it exists for as long as it has a channel, or a connection. */
struct listener {
	struct pool *pool;		/* borrowed */
	struct server *server;		/* borrowed; NULL: none */
	struct channel *channels;	/* uthash: by name */
	struct listening *clients;	/* DL */
	uint64_t last_list;		/* of names: each has a number */
	uint32_t last_token;
	bool marked;			/* the connection listens to marker */
	char marker[CHANNELS_NAME];	/* a channel of our own: no client's */
};

/* c listens to that, too. 0, or -1: no memory, or no name of a channel. */
int channels_add(struct client *c, const char *name, enum channel_from from);
/* c listens to these alone: a list of names, each with its NUL. */
void channels_retain(struct client *c, const void *list, size_t len);
/* c listens to nothing. */
void channels_leave(struct client *c);
/* NULL: c does not listen to it. */
struct subscription *channels_find(const struct client *c, const char *name);
unsigned channels_count(const struct client *c);
/* Is that a channel of our own, or of another process like us? */
bool channels_is_marker(const char *name);
/* Drop what nobody needs: *l, too, where that is all. */
void channels_tidy(struct listener *l);

#endif
