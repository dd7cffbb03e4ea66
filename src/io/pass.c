/* pass.c - descriptors that travel with bytes, over a Unix socket.
 * SPDX-License-Identifier: ISC */
#include "io/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

/* Room for the one descriptor that a message may have. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int pass_block(int sock, int seconds)
{
	const struct timeval tv = { .tv_sec = seconds };
	const int flags = fcntl(sock, F_GETFL);

	if (flags < 0 || fcntl(sock, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return -1;
	if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv) < 0)
		return -1;
	return setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
}

int pass_unblock(int sock)
{
	const int flags = fcntl(sock, F_GETFL);

	return flags < 0 ? -1 : fcntl(sock, F_SETFL, flags | O_NONBLOCK);
}

static void put_fd(struct msghdr *m, union control *c, int fd)
{
	memset(c, 0, sizeof *c);
	m->msg_control = c->bytes;
	m->msg_controllen = sizeof c->bytes;
	struct cmsghdr *const h = CMSG_FIRSTHDR(m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(h), &fd, sizeof fd);
}

int pass_send(int sock, const void *p, size_t n, int fd)
{
	const char *at = p;
	union control c;

	for (bool first = true; n > 0;) {
		struct iovec v = { .iov_base = (void *)at, .iov_len = n };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

		if (first)
			put_fd(&m, &c, fd);
		const ssize_t sent = sendmsg(sock, &m, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -1;
		first = false;
		at += sent;
		n -= (size_t)sent;
	}
	return 0;
}

ssize_t pass_recv(int sock, void *buf, size_t size, int *fd)
{
	union control c;
	struct iovec v = { .iov_base = buf, .iov_len = size };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
		.msg_control = c.bytes, .msg_controllen = sizeof c.bytes };
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	const struct cmsghdr *const h = CMSG_FIRSTHDR(&m);

	if (h != NULL && h->cmsg_level == SOL_SOCKET &&
	    h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof *fd))
		memcpy(fd, CMSG_DATA(h), sizeof *fd);
	return n;
}
