/* bulk.h - data in bulk goes from socket to socket: rows, COPY, long bodies.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_BULK_H
#define SESSION_BULK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "io/splice.h"
#include "io/stream.h"
#include "session/carry.h"

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
