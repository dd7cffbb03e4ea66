/* track.h - the requests that a server still owes an answer, in order.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_TRACK_H
#define PROTO_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum track_how {
	TRACK_FORWARD,	/* sent; the reply goes to the client */
	TRACK_SKIP,	/* ours; the reply is swallowed */
	TRACK_FAKE,	/* not sent; we reply when its turn comes */
	TRACK_MAYBE,	/* a Sync that a COPY may have read as its data */
	TRACK_SKIP_MAYBE,	/* the same of one of ours */
};

/* One outstanding request; op is what its end means for prepared statements. */
struct track_req {
	char type;	/* frontend message type */
	uint8_t how;	/* enum track_how */
	uint8_t own;	/* enum own_mark, by track_mark() */
	uint32_t tag;	/* subject, by track_tag(); else 0 */
	void *op;	/* owned by the request until ops takes it; or NULL */
};

struct track_ops {
	void (*commit)(void *op, void *arg);	/* op has happened */
	void (*rollback)(void *op, void *arg);	/* op has not happened */
};

#define TRACK_CAP 65536		/* requests; past it the client must wait */

/* Embedded in server; private to track*.c but for what has a comment. */
struct track {
	struct track_req *ring;		/* owned; size is a power of two */
	unsigned head, count, size;
	unsigned op_count;		/* requests that have an op */
	unsigned odd;	/* ... that are not FORWARD, or the end of a COPY */
	const struct track_ops *ops;
	void *arg;
	char status;	/* of the last ReadyForQuery: I, T, E; 0 before it */
	bool ready;	/* nothing came since that ReadyForQuery */
	bool copy_in;	/* the server reads CopyData */
	bool aborted;	/* an error: the server discards up to Sync */
	bool uncertain;	/* how many ReadyForQuery come is not known, until the
			 * first request that is no Sync is answered */
	bool asked;	/* ... and there is one, so that this will end */
	bool lost;	/* the outcome can't be known: close */
	bool failed;	/* the head has: nothing but ReadyForQuery can come */
	bool heard;	/* the head was answered in part; while asks > 0 */
	bool spoke;	/* ... and since it was asked, a ReadyForQuery came */
	uint8_t asks;	/* Syncs of track_silence() at the end */
};

void track_init(struct track *t, const struct track_ops *ops, void *arg);
/* Roll back what is outstanding, newest first, and forget it. */
void track_fini(struct track *t);

static inline bool track_is_empty(const struct track *t)
{
	return t->count == 0;
}
static inline bool track_is_full(const struct track *t)
{
	return t->count >= TRACK_CAP;
}
/* The ring's bytes; for SHOW MEM. */
static inline size_t track_bytes(const struct track *t)
{
	return t->size * sizeof *t->ring;
}

/*
 * A request was, or will now be, sent (FORWARD, SKIP), or is to be faked. The
 * request is rolled back at once where the server is known to discard it.
 * CopyDone and CopyFail are requests, CopyData, Flush and Terminate are not.
 * Returns 0, or -1: no memory.
 */
int track_add(struct track *t, char type, enum track_how how, void *op);

enum track_verdict {
	TRACK_PASS,	/* the reply is the client's */
	TRACK_SWALLOW,	/* answers a request of ours */
	TRACK_FAILED,	/* an error that answers a whole query of ours */
	TRACK_CONFUSED,	/* not a reply that can come now: close */
};

/*
 * Call before track_reply(), when t->uncertain: does the message say how many
 * ReadyForQuery came? No fake may have been added behind a Sync then.
 */
void track_settle(struct track *t, char type);
/*
 * Is a request of our own needed to learn that? To be sent, behind all that
 * was, are Close of what does not exist, and Sync. Not again when it says so.
 */
bool track_wants_probe(struct track *t);
/* Would a request that is no Sync be discarded, or not? Nobody can tell. */
static inline bool track_is_unsure(const struct track *t)
{
	return t->uncertain && t->aborted;
}

/*
 * The server has been silent for long; all that it was sent has gone, and nothing
 * will be added before all is answered, except in a COPY. Is it at work, or has an
 * answer got lost? A long query and a lost answer look alike, and a Sync tells
 * them apart: once it is answered, all before it was. But a Sync would end, and
 * commit, a batch that the client has left open: there nothing is asked.
 */
enum track_silence {
	TRACK_UNTOLD,	/* the client's turn, or the Sync would do harm */
	TRACK_ASK,	/* send a Sync: it is noted */
	TRACK_LOST,	/* the awaited answer will not come: close */
};
enum track_silence track_silence(struct track *t);

/* A message came; the request it ends leaves the queue. status: RFQ's. */
enum track_verdict track_reply(struct track *t, char type, char status);

/* The reply to the oldest request, which is the client's, is swallowed. */
void track_own(struct track *t);
/*
 * If the oldest request is a Query of the client, and the next one our Sync, the
 * client gets the ReadyForQuery of the Sync instead of that of the Query. After
 * track_silence(), this applies to each request that ends in ReadyForQuery.
 */
void track_tell_later(struct track *t);

/*
 * If the next in turn is a fake, take it off and return its type (the caller
 * sends the reply), else 0. Call until 0 after each track_reply(), and after
 * a fake was added to an empty track.
 */
char track_fake(struct track *t);
static inline bool track_has_fake(const struct track *t)
{
	return t->count > 0 && t->ring[t->head].how == TRACK_FAKE;
}

/* The ith outstanding request, oldest first; and its op (or NULL). */
static inline const struct track_req *track_req(const struct track *t,
    unsigned i)
{
	return &t->ring[(t->head + i) & (t->size - 1)];
}
static inline void *track_op(const struct track *t, unsigned i)
{
	return track_req(t, i)->op;
}
/* The ith request, which has none, gets this op. */
void track_set_op(struct track *t, unsigned i, void *op);

/* Will a ReadyForQuery end all that is owed? Then the client awaits it. */
bool track_awaits_ready(const struct track *t);

/* Nothing owed and the last word was ReadyForQuery I. */
static inline bool track_is_done(const struct track *t)
{
	return t->count == 0 && t->ready && t->status == 'I';
}

/* What becomes of a request, or of a reply, that comes now. */

/* How many requests are looked through; past that nothing is known. */
#define TRACK_LOOK 1024

/*
 * Requests, oldest first, whose fate does not decide over a request that is
 * added now: a Sync stands between them. When such a request fails, requests
 * behind the Sync happen all the same. Returns 0,
 * or -1: too many to look through.
 */
int track_apart(const struct track *t, unsigned *n);

/*
 * Is a ReadyForQuery owed, so that what is added now is not of the first batch or
 * Query? Also if there are too many to look through.
 */
bool track_owes_ready(const struct track *t);

/*
 * May the transaction have failed when what is added now gets its turn? (If
 * something fails in the same pipeline, it gets none. A Query of our own is
 * sent ahead of a transaction, and fails none.)
 */
bool track_may_be_failed(const struct track *t);

/*
 * May what is added now be skipped, because something fails that stands ahead
 * of it in the batch that is open? A Query or FunctionCall ends no batch: both
 * are skipped, too.
 */
bool track_may_be_skipped(const struct track *t);

/* Does the server read COPY data whose end was not sent yet? */
bool track_wants_data(const struct track *t);
/* Is the end of COPY data still to be read? */
bool track_has_copy_end(const struct track *t);

/* Is nothing owed but the answer to a Sync of our own? */
static inline bool track_is_answered(const struct track *t)
{
	return t->count == 0 || (t->count == 1 &&
	    track_req(t, 0)->type == 'S' && track_req(t, 0)->how == TRACK_SKIP);
}

/* The request that was added just now is about this. */
static inline void track_tag(struct track *t, uint32_t tag)
{
	if (t->count > 0 && !t->aborted)
		t->ring[(t->head + t->count - 1) & (t->size - 1)].tag = tag;
}
/* ... and does this to the unnamed statement (enum own_mark). */
static inline void track_mark(struct track *t, uint8_t own)
{
	if (t->count > 0 && !t->aborted)
		t->ring[(t->head + t->count - 1) & (t->size - 1)].own = own;
}
/* Subject of the oldest request; 0: not told. */
static inline uint32_t track_head_tag(const struct track *t)
{
	return t->count == 0 ? 0 : track_req(t, 0)->tag;
}

/*
 * Is a batch without its Sync open, outside of a transaction block? PostgreSQL
 * 18 forgets to end the transaction of a Query that comes then: the next
 * command on that server fails, whichever client sends it.
 */
static inline bool track_is_in_batch(const struct track *t)
{
	return t->status == 'I' &&
	    (t->count > 0 ? !track_awaits_ready(t) : !t->ready);
}

/*
 * Add r as it stands in the ring of another process; r's op is taken. -1, and
 * op is not taken: no memory, or bad.
 */
int track_put(struct track *t, const struct track_req *r);

#endif
