/* carry.c - bytes of a burst: sent, kept until later, or passed from socket to
 * socket.
 * SPDX-License-Identifier: ISC */
#include "session/carry.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "io/loop.h"
#include "io/stream.h"
#include "proto/msg.h"

/*
 * From this size on, a carry is a mapping: it grows without a copy, and the
 * next user of the memory finds zeros.
 */
#define MAPPED (1 << 20)

static void carry_release(const struct carry *c)
{
	if (c->size >= MAPPED) {
		mem_unmap(c->at, c->size);
		return;
	}
	secret_wipe(c->at, c->used);	/* it may contain a PasswordMessage */
	if (c->size == MEM_BLOCK)
		mem_block_free(c->at);
	else
		mem_free(c->at);
}

void carry_fini(struct carry *c)
{
	if (c->at == NULL)
		return;
	mem_note(MEM_CARRY, -1, -(long)c->size);
	carry_release(c);
	*c = (struct carry){ 0 };
}

/* Returns a buffer of this size, or NULL: no memory. */
static uint8_t *get(size_t size)
{
	return size >= MAPPED ? mem_map(size) :
	    size == MEM_BLOCK ? mem_block() : mem_alloc(size);
}

/* Moves the content to a new buffer of this size. NULL: no memory. */
static uint8_t *replace(struct carry *c, size_t size)
{
	uint8_t *const at = get(size);

	if (at == NULL || c->at == NULL)
		return at;
	memcpy(at, c->at, c->len);
	carry_release(c);
	c->used = c->len;
	return at;
}

/* Makes room for size bytes and keeps the content. */
static int carry_reserve(struct carry *c, size_t size)
{
	if (size <= c->size)
		return 0;
	if (size > UINT32_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (size <= MEM_BLOCK)
		size = MEM_BLOCK;
	const bool first = c->at == NULL;
	uint8_t *const at = c->size >= MAPPED ?
	    mem_map_longer(c->at, c->size, size) : replace(c, size);

	if (at == NULL) {
		errno = ENOMEM;
		return -1;
	}
	mem_note(MEM_CARRY, first, (long)(size - c->size));
	c->at = at;
	c->size = (uint32_t)size;
	return 0;
}

int carry_keep(struct carry *c, const void *p, size_t n)
{
	if (n == 0) {
		carry_fini(c);
		return 0;
	}
	const uint8_t *from = p;
	const bool inside = c->at != NULL && from >= c->at &&
	    from < c->at + c->size;

	if (!inside && carry_reserve(c, n) < 0)
		return -1;
	if (from != c->at)
		memmove(c->at, p, n);
	carry_set_len(c, n);
	return 0;
}

/* Out of the hot path: the bytes follow a carry, or there is little room. */
static __attribute__((noinline)) ssize_t read_behind(struct carry *c,
    struct stream *s, struct burst *out, size_t max)
{
	uint8_t *buf = loop_buffer(s->loop);
	size_t size = LOOP_BUFFER;
	const size_t had = c->len;

	if (had >= max) {
		errno = EMSGSIZE;
		return STREAM_ERROR;
	}
	if (had > LOOP_BUFFER / 2) {
		/*
		 * a long message that must be whole: the carry grows in place
		 */
		if (had == c->size &&
		    carry_reserve(c, had < max / 2 ? had * 2 : max) < 0)
			return STREAM_ERROR;
		buf = c->at;
		size = c->size;
	} else if (had > 0) {
		memcpy(buf, c->at, had);
	}
	if (size > max)
		size = max;
	const ssize_t n = stream_read(s, buf + had, size - had);

	if (n <= 0)
		return n;
	out->at = buf;
	out->len = had + (size_t)n;
	if (buf == c->at)
		carry_set_len(c, out->len);
	return n;
}

ssize_t carry_read(struct carry *c, struct stream *s, struct burst *out,
    size_t max)
{
	if (c->len > 0 || max < LOOP_BUFFER)
		return read_behind(c, s, out, max);
	out->at = loop_buffer(s->loop);
	const ssize_t n = stream_read(s, out->at, LOOP_BUFFER);

	if (n > 0)
		out->len = (size_t)n;
	return n;
}

bool carry_again(struct carry *c, struct burst *out)
{
	out->at = c->at;
	out->len = c->len;
	return c->len > 0;
}

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

/* Is the last run at the end of the copied bytes? */
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
	/* a copy of a few bytes costs less than one more run in the kernel */
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

/*
 * The kernel moves the body of a long message from socket to socket. If
 * messages are short, their headers must be read, so the bytes are copied out
 * of the socket once. They are not copied into the other socket, which would
 * cost the same again and more.
 */

/*
 * The most that is moved at a time. On the loopback, a packet has 65,483 bytes,
 * and a few bytes more cost a packet more. So this is a little less than two
 * packets.
 */
#define BULK_MOST 130000

static bool is_data(const struct bulk *k, uint8_t type)
{
	return type == k->kinds[0] || type == k->kinds[1];
}

/* How many of the n bytes at p are data, and how much data follows them? */
static size_t data_in(const struct bulk *k, const uint8_t *p, size_t n,
    uint32_t *skip)
{
	size_t at = *skip < n ? *skip : n;

	*skip -= (uint32_t)at;
	while (n - at >= MSG_HEADER && is_data(k, p[at])) {
		const size_t whole = msg_run(p + at, n - at, k->max);
		const size_t size = msg_size(p + at, k->max);

		if (whole == 0 && size > 0) {
			*skip = (uint32_t)(size - (n - at));
			return n;
		}
		if (whole == 0)
			break;
		at += whole;
	}
	return at;
}

static ssize_t move_body(struct bulk *k)
{
	/* the end of the body is read, because something may follow from it */
	const ssize_t n = splice_move(k->from, k->to, *k->skip - 1);

	if (n > 0)
		*k->skip -= (uint32_t)n;
	return n;
}

ssize_t bulk_move(struct bulk *k, struct burst *b)
{
	const size_t most = k->max < BULK_MOST ? k->max : BULK_MOST;
	uint32_t skip = *k->skip;

	b->len = 0;
	if (skip >= SPLICE_MIN)
		return move_body(k);
	b->at = loop_buffer(k->from->loop);
	const ssize_t n = splice_peek(k->from, b->at, most);
	if (n <= 0)
		return n;
	const size_t data = data_in(k, b->at, (size_t)n, &skip);
	bulk_note(k->from, n);
	if (data < BULK_MIN) {
		b->len = (size_t)n;
		return splice_take(k->from, b->at, b->len) < 0 ?
		    STREAM_ERROR : n;
	}
	*k->skip = skip > 0 ? skip : 1;
	if (splice_pass(k->from, k->to, data) < 0)
		return STREAM_ERROR;
	*k->skip = skip;
	/*
	 * A few bytes that stay in the socket count as much as the packet that
	 * brought them. They may keep its window shut, so that nothing more
	 * arrives.
	 */
	if ((size_t)n > data)
		stream_reread(k->from);
	return (ssize_t)data;
}
