/* outbox.c - what a burst sends: runs of its bytes and pieces of our own.
 * SPDX-License-Identifier: ISC */
#include "session/outbox.h"

#include <string.h>

void outbox_flush(struct outbox *o)
{
	if (o->count > 0) {
		const enum stream_write r = stream_write(o->to, o->run,
		    o->count);

		if (r > o->result)
			o->result = r;
	}
	o->count = 0;
	o->used = 0;
}

/* Is the last run at the end of what was copied? */
static bool ends_copied(const struct outbox *o)
{
	if (o->count == 0)
		return false;
	const struct iovec *last = &o->run[o->count - 1];

	return (const uint8_t *)last->iov_base + last->iov_len ==
	    o->bytes + o->used;
}

void outbox_add_run(struct outbox *o, const void *p, size_t n)
{
	/* to copy a few bytes is cheaper than one more run for the kernel */
	if (n <= OUTBOX_SMALL && o->used + n <= OUTBOX_BYTES &&
	    ends_copied(o)) {
		memcpy(o->bytes + o->used, p, n);
		o->run[o->count - 1].iov_len += n;
		o->used += n;
		return;
	}
	if (o->count == OUTBOX_RUNS)
		outbox_flush(o);
	o->run[o->count++] = (struct iovec){ (void *)p, n };
}

void outbox_copy(struct outbox *o, const void *p, size_t n)
{
	if (o->used + n > OUTBOX_BYTES || o->count == OUTBOX_RUNS)
		outbox_flush(o);
	memcpy(o->bytes + o->used, p, n);
	outbox_pass(o, o->bytes + o->used, n);
	o->used += n;
}

void outbox_copy_all(struct outbox *o, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n > 0) {
		const size_t part = n < OUTBOX_BYTES ? n : OUTBOX_BYTES;

		outbox_copy(o, from, part);
		from += part;
		n -= part;
	}
}
