/* bulk.c - data in bulk goes from socket to socket: rows, COPY, long bodies.
 *
 * The body of a long message is moved unseen. Of many short ones the headers
 * must be seen: so the bytes are copied out of the socket, but not into the
 * other one, which costs as much again and more.
 * SPDX-License-Identifier: ISC */
#include "session/bulk.h"

#include "io/loop.h"
#include "proto/msg.h"

/*
 * What is moved at a time. On the loopback, 65,483 bytes make a packet, and a
 * few bytes more make one more, which costs as much: so it is a little less
 * than two.
 */
#define BULK_MOST 130000

static bool is_data(const struct bulk *k, uint8_t type)
{
	return type == k->kinds[0] || type == k->kinds[1];
}

/* How much of the n bytes at p is data, and how much is to come behind. */
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
	/* the end of the body is read, for what may follow from it */
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
	 * A few bytes that are left in the socket count as much as the packet
	 * they came in: they may keep its window shut, and no more comes.
	 */
	if ((size_t)n > data)
		stream_reread(k->from);
	return (ssize_t)data;
}
