/* splice.c - bytes from socket to socket that nobody needs to look at.
 * SPDX-License-Identifier: ISC */
#include "io/splice.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/loop.h"
#include "io/stream.h"
#include "io/transport.h"

bool splice_can(const struct stream *from, const struct stream *to)
{
	return from->transport == transport_plain() &&
	    to->transport == transport_plain() && !to->broken &&
	    !stream_is_blocked(to) && loop_pipe(from->loop) != NULL;
}

/* The pipe belongs to all: it must be empty when we leave, or never be used. */
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
	const unsigned how = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
	ssize_t got, sent;

	do
		got = splice(from->fd, NULL, pipe[1], NULL, n, how);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return STREAM_EOF;
	if (got < 0 && is_refused(errno)) {
		loop_drop_pipe(from->loop);
		return STREAM_NONE;	/* and ready as it was */
	}
	if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		return STREAM_ERROR;
	if (got < 0) {
		from->ready = false;
		return STREAM_NONE;
	}
	for (size_t left = (size_t)got; left > 0; left -= (size_t)sent) {
		sent = splice(pipe[0], NULL, to->fd, NULL, left, how);
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
