/* carry.h - bytes of a burst: sent, kept until later, or passed from socket to
 * socket.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CARRY_H
#define SESSION_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "io/splice.h"
#include "io/stream.h"
#include "proto/msg.h"

/* All zero if empty: an idle connection owns no buffer. */
struct carry {
	uint8_t *at;		/* owned */
	uint32_t len, size;
	uint32_t used;			/* the largest len since the last
					 * wipe */
};

/* The first len bytes of c, out of size, are in use now. */
static inline void carry_set_len(struct carry *c, size_t len)
{
	c->len = (uint32_t)len;
	if (c->used < c->len)
		c->used = c->len;
}

/*
 * Keeps n bytes of p, which may lie inside `at`. Returns 0, or -1: no memory.
 */
int carry_keep(struct carry *c, const void *p, size_t n);
void carry_fini(struct carry *c);

/* The rest of a message whose head was processed. */
struct message_rest {
	uint32_t bytes;
	bool dropped;			/* they are dropped; else they pass
					 * unchanged */
};

/* Is the other side in the middle of this message? */
static inline bool rest_passes(const struct message_rest *r)
{
	return r->bytes > 0 && !r->dropped;
}

struct stream;

/* A burst: carried bytes and those of one read. */
struct burst {
	uint8_t *at;
	size_t len;
};

/*
 * Reads once, behind what is carried: into the shared buffer of the loop, or,
 * if that is too small, into the carry, which doubles until it holds max bytes.
 * The burst never exceeds max bytes. Returns as stream_read(), or STREAM_ERROR
 * with errno ENOMEM or EMSGSIZE.
 */
ssize_t carry_read(struct carry *c, struct stream *s, struct burst *out,
    size_t max);
/*
 * Does it begin with a whole message (or contain none)? Then the message can be
 * processed now.
 */
static inline bool carry_is_whole(const struct carry *c, uint32_t max)
{
	return c->len >= MSG_HEADER && msg_size(c->at, max) <= c->len;
}
/* Returns what is carried, without reading; false if there is nothing. */
bool carry_again(struct carry *c, struct burst *out);
/*
 * Hot: the first used bytes of the burst were processed; keeps the rest.
 * Returns 0 or -1.
 */
static inline int carry_rest(struct carry *c, const struct burst *b,
    size_t used)
{
	return used == b->len && c->at == NULL ? 0 :
	    carry_keep(c, b->at + used, b->len - used);
}

/* What a burst sends: runs of its own bytes, and pieces of ours. */

#define OUTBOX_RUNS 64
#define OUTBOX_BYTES 2048
#define OUTBOX_SMALL 256	/* shorter runs are copied */

/* Lives on the stack for one burst. A full one is sent before the end. */
struct outbox {
	struct stream *to;		/* borrowed */
	enum stream_write result;	/* the worst result so far */
	int count;
	size_t used;			/* of bytes */
	struct iovec run[OUTBOX_RUNS];
	uint8_t bytes[OUTBOX_BYTES];	/* for outbox_copy() */
};

static inline void outbox_init(struct outbox *o, struct stream *to)
{
	o->to = to;
	o->result = STREAM_SENT;
	o->count = 0;
	o->used = 0;
}

/* Sends everything that was added. */
void outbox_flush(struct outbox *o);

void outbox_add_run(struct outbox *o, const void *p, size_t n);

/* Adds n bytes at p, which must stay valid until the flush. */
static inline void outbox_pass(struct outbox *o, const void *p, size_t n)
{
	struct iovec *last = o->count > 0 ? &o->run[o->count - 1] : NULL;

	/* hot: most bursts are one run */
	if (last == NULL)
		o->run[o->count++] = (struct iovec){ (void *)p, n };
	else if ((const uint8_t *)last->iov_base + last->iov_len ==
	    (const uint8_t *)p)
		last->iov_len += n;
	else
		outbox_add_run(o, p, n);
}

/* Adds a copy of n bytes (at most OUTBOX_BYTES). */
void outbox_copy(struct outbox *o, const void *p, size_t n);
/* The same for any length. */
void outbox_copy_all(struct outbox *o, const void *p, size_t n);

/*
 * From this size on, a read should look at the next one first. Below it, one
 * more system call and the exchange of pages cost as much as a copy.
 */
#define BULK_MIN 32768

/* One direction of a pair, for one read. */
struct bulk {
	struct stream *from, *to;
	uint32_t *skip;		/* bytes of the current message that pass */
	uint8_t kinds[2];	/* types of messages that contain only data */
	uint32_t max;		/* max_packet_size */
};

/* May the next read of `from`, of which skip bytes may pass, be moved? */
static inline bool bulk_is_near(const struct stream *from, uint32_t skip)
{
	return from->long_reads || skip >= SPLICE_MIN;
}

/* A read returned n bytes. */
static inline void bulk_note(struct stream *from, ssize_t n)
{
	from->long_reads = n >= BULK_MIN;
}

/*
 * One side of a pair returned n bytes. The other side (or NULL) will probably
 * be answered in turn, so it is no longer in full flow.
 */
static inline void bulk_flow(struct stream *from, struct stream *other,
    ssize_t n)
{
	if (n >= FLOW_MIN)
		stream_flow_note(from, (size_t)n);
	if (other != NULL)
		stream_flow_over(other);
}

/*
 * Moves bytes that are only data. It reads the end of a message that is longer
 * than one read, and everything that is not data. Returns as stream_read();
 * b->len is the number of bytes read, or 0 if they were moved. Errors: a
 * failure of `to` sets to->broken. A failure of `from` in the middle of data
 * leaves *skip above 0.
 */
ssize_t bulk_move(struct bulk *k, struct burst *b);

#endif
