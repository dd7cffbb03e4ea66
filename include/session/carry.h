/* carry.h - bytes of a burst: sent, kept until later, or passed from socket
 * to socket.
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

/* All zero when empty: an idle connection owns no buffer. */
struct carry {
	uint8_t *at;		/* owned */
	uint32_t len, size;
	uint32_t used;			/* the most that len was: to be wiped */
};

/* The first len bytes of c, out of size, are in use now. */
static inline void carry_set_len(struct carry *c, size_t len)
{
	c->len = (uint32_t)len;
	if (c->used < c->len)
		c->used = c->len;
}

/* Keep n bytes of p (which may lie inside at). 0, or -1: no memory. */
int carry_keep(struct carry *c, const void *p, size_t n);
void carry_fini(struct carry *c);

/* What is still to come of a message whose head is done with. */
struct message_rest {
	uint32_t bytes;
	bool dropped;			/* else they pass, as it has */
};

/* Is the other side amid this message? */
static inline bool rest_passes(const struct message_rest *r)
{
	return r->bytes > 0 && !r->dropped;
}

struct stream;

/* A burst: what was carried and what one read has added. */
struct burst {
	uint8_t *at;
	size_t len;
};

/*
 * Read once behind what is carried, into the shared buffer of the loop, or,
 * when that gets too small, into the carry itself (which grows by doubling
 * until it holds max bytes). The burst never exceeds max bytes.
 * Returns: as stream_read(), or STREAM_ERROR with errno ENOMEM/EMSGSIZE.
 */
ssize_t carry_read(struct carry *c, struct stream *s, struct burst *out,
    size_t max);
/* Does it begin with a whole message (or with none)? Then nobody has had time. */
static inline bool carry_is_whole(const struct carry *c, uint32_t max)
{
	return c->len >= MSG_HEADER && msg_size(c->at, max) <= c->len;
}
/* Only what is carried, without reading; false when nothing is. */
bool carry_again(struct carry *c, struct burst *out);
/* Hot: the first used bytes of the burst are done with; keep the rest. 0 or -1. */
static inline int carry_rest(struct carry *c, const struct burst *b,
    size_t used)
{
	return used == b->len && c->at == NULL ? 0 :
	    carry_keep(c, b->at + used, b->len - used);
}

/* What a burst sends: runs of its bytes and pieces of our own. */

#define OUTBOX_RUNS 64
#define OUTBOX_BYTES 2048
#define OUTBOX_SMALL 256	/* bytes that are not worth a run of their own */

/* Lives on the stack of one burst; a full one is sent in between. */
struct outbox {
	struct stream *to;		/* borrowed */
	enum stream_write result;	/* the worst so far */
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

/* Send what is listed. */
void outbox_flush(struct outbox *o);

void outbox_add_run(struct outbox *o, const void *p, size_t n);

/* n bytes at p, which stay valid until the flush. */
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

/* n bytes (at most OUTBOX_BYTES), copied. */
void outbox_copy(struct outbox *o, const void *p, size_t n);
/* The same, however many. */
void outbox_copy_all(struct outbox *o, const void *p, size_t n);

/* Data in bulk goes from socket to socket: rows, COPY, long bodies. */

/*
 * Reads from here on are long: the next one is better looked at first. Below,
 * one more system call and the hand-over of pages cost what a copy does.
 */
#define BULK_MIN 32768

/* One direction of a pair, for one read. */
struct bulk {
	struct stream *from, *to;
	uint32_t *skip;		/* bytes of the open message, to be passed */
	uint8_t kinds[2];	/* types of messages that are only data */
	uint32_t max;		/* max_packet_size */
};

/* Is the next read of from, skip bytes of which may pass, one for us? */
static inline bool bulk_is_near(const struct stream *from, uint32_t skip)
{
	return from->long_reads || skip >= SPLICE_MIN;
}

/* A read gave n bytes. */
static inline void bulk_note(struct stream *from, ssize_t n)
{
	from->long_reads = n >= BULK_MIN;
}

/*
 * One side of a pair brought n bytes. The other side (or NULL) may be spoken to
 * in turn by the receiver: so it flows no more.
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
 * Move what is only data; the end of a message that is longer than a read, and
 * all that is no data, is read.
 * Returns: as stream_read(). b->len tells whether they were read, or moved (0).
 * Errors:  a failure of to shows in to->broken. One of from in the middle of
 *          data leaves *skip above 0.
 */
ssize_t bulk_move(struct bulk *k, struct burst *b);

#endif
