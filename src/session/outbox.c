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

void outbox_add_run(struct outbox *o, const void *p, size_t n)
{
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
