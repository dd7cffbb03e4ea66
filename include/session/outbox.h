/* outbox.h - what a burst sends: runs of its bytes and pieces of our own.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_OUTBOX_H
#define SESSION_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "io/stream.h"

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

#endif
