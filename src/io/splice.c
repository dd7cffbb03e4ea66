/* splice.c - bytes from socket to socket that nobody needs to look at.
 * SPDX-License-Identifier: ISC */
#include "io/splice.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "io/loop.h"
#include "io/stream.h"
#include "io/transport.h"

bool splice_can(const struct stream *from, const struct stream *to)
{
	return from->transport == transport_plain() &&
	    to->transport == transport_plain() && !to->broken &&
	    !stream_is_blocked(to) && loop_pipe(from->loop) != NULL;
}

/* The pipe is shared: it must be empty when we leave, or never be used. */
static void take_rest(const int pipe[2], struct stream *to, size_t n)
{
	uint8_t *const buf = loop_buffer(to->loop);

	while (n > 0) {
		const ssize_t got = read(pipe[0], buf, n < LOOP_BUFFER ? n :
		    LOOP_BUFFER);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			to->broken = true;
			loop_drop_pipe(to->loop);
			return;
		}
		if (!to->broken)
			(void)stream_queue(to, buf, (size_t)got);
		n -= (size_t)got;
	}
}

/* A sandbox may not know the call: then bytes are copied as all others. */
static bool is_refused(int cause)
{
	return cause == ENOSYS || cause == EPERM || cause == EINVAL;
}

ssize_t splice_move(struct stream *from, struct stream *to, size_t n)
{
	const int *const pipe = loop_pipe(from->loop);
	ssize_t got, sent;

	do
		got = os_splice(from->fd, pipe[1], n);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return STREAM_EOF;
	if (got < 0 && is_refused(errno)) {
		loop_drop_pipe(from->loop);
		return STREAM_NONE;	/* and from is ready as before */
	}
	if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		return STREAM_ERROR;
	if (got < 0) {
		stream_await(from);
		return STREAM_NONE;
	}
	for (size_t left = (size_t)got; left > 0; left -= (size_t)sent) {
		sent = os_splice(pipe[0], to->fd, left);
		if (sent < 0 && errno == EINTR) {
			sent = 0;
			continue;
		}
		if (sent > 0)
			continue;
		to->broken = sent == 0 ||
		    (errno != EAGAIN && errno != EWOULDBLOCK);
		take_rest(pipe, to, left);
		break;
	}
	return got;
}

/*
 * A byte that is urgent may be left out of what is peeked at and yet be moved
 * later on, when another one is. So there shall be none.
 */
static int no_urgent_bytes(struct stream *s)
{
	const int on = 1;

	if (s->in_line)
		return 0;
	if (setsockopt(s->fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) < 0)
		return -1;
	s->in_line = true;
	return 0;
}

ssize_t splice_peek(struct stream *from, void *buf, size_t size)
{
	ssize_t n;

	if (no_urgent_bytes(from) < 0)
		return STREAM_ERROR;
	do
		n = recv(from->fd, buf, size, MSG_PEEK);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return STREAM_EOF;
	if (n < 0 && errno != EAGAIN)
		return STREAM_ERROR;
	if (n < (ssize_t)size && !from->hup)
		stream_await(from);
	return n < 0 ? STREAM_NONE : n;
}

int splice_take(struct stream *from, void *buf, size_t n)
{
	while (n > 0) {
		const ssize_t got = os_discard(from->fd, buf, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		buf = (uint8_t *)buf + got;
		n -= (size_t)got;
	}
	return 0;
}

/* Bytes that can't be moved are copied. */
static ssize_t copy_some(struct stream *from, struct stream *to, size_t n)
{
	uint8_t *const buf = loop_buffer(to->loop);
	const ssize_t got = stream_read(from, buf, n < LOOP_BUFFER ? n :
	    LOOP_BUFFER);

	if (got > 0)
		(void)stream_write_bytes(to, buf, (size_t)got);
	return got;
}

int splice_pass(struct stream *from, struct stream *to, size_t n)
{
	const bool ready = from->ready;

	while (n > 0) {
		ssize_t got = splice_can(from, to) ?
		    splice_move(from, to, n) : STREAM_NONE;

		if (got <= 0)
			got = copy_some(from, to, n);
		if (got <= 0)
			return -1;
		n -= (size_t)got;
	}
	from->ready = ready;
	return 0;
}
