/* transport.c - the plain transport: the socket itself.
 * SPDX-License-Identifier: ISC */
#include "io/transport.h"

#include <sys/socket.h>

#include "io/stream.h"

static ssize_t plain_recv(struct stream *s, void *buf, size_t size)
{
	return recv(s->fd, buf, size, 0);
}

static ssize_t plain_send(struct stream *s, const struct iovec *iov, int count)
{
	/* send() is the cheaper call, and one run is the common case */
	if (count == 1)
		return send(s->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL);
	const struct msghdr m = { .msg_iov = (struct iovec *)iov,
	    .msg_iovlen = (size_t)count };

	return sendmsg(s->fd, &m, MSG_NOSIGNAL);
}

static const struct transport plain = {
	.recv = plain_recv,
	.send = plain_send,
};

const struct transport *transport_plain(void)
{
	return &plain;
}
