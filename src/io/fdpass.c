/* fdpass.c - descriptors that travel with bytes, over a Unix socket.
 * SPDX-License-Identifier: ISC */
#include "io/fdpass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "base/os.h"

/* Room for the one descriptor that a message may have. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* And for the credentials of the sender. */
union received {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int)) + OS_SENDER_SPACE];
};

int fdpass_block(int sock, int seconds)
{
	const struct timeval tv = { .tv_sec = seconds };
	const int flags = fcntl(sock, F_GETFL);

	if (flags < 0 || fcntl(sock, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return -1;
	if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv) < 0)
		return -1;
	return setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
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

/* Until more can be written. 0, or -1: not in time. */
static int await_room(const struct fdpass_way *way)
{
	struct pollfd room = { .fd = way->sock, .events = POLLOUT };
	const usec_t left = way->until - time_precise();
	int n;

	if (left <= 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	n = poll(&room, 1, (int)(left / 1000) + 1);
	return n < 0 && errno != EINTR ? -1 : 0;
}

int fdpass_send(const struct fdpass_way *way, const void *p, size_t n, int fd)
{
	const char *at = p;
	union control c;

	for (bool first = true; n > 0;) {
		struct iovec v = { .iov_base = (void *)at, .iov_len = n };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

		if (first)
			put_fd(&m, &c, fd);
		const ssize_t sent = sendmsg(way->sock, &m,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN && await_room(way) == 0)
			continue;
		if (sent < 0)
			return -1;
		first = false;
		at += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int fdpass_ask_sender(int sock)
{
	return os_sender_ask(sock);
}

static void take(const struct cmsghdr *h, struct fdpassed *with)
{
	if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof with->fd))
		memcpy(&with->fd, CMSG_DATA(h), sizeof with->fd);
}

ssize_t fdpass_recv(int sock, void *buf, size_t size, struct fdpassed *with)
{
	union received c;
	struct iovec v = { .iov_base = buf, .iov_len = size };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
		.msg_control = c.bytes, .msg_controllen = sizeof c.bytes };
	struct os_peer sender;
	ssize_t n;

	*with = (struct fdpassed){ .fd = -1 };
	do
		n = os_recvmsg(sock, &m);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL;
	    h = CMSG_NXTHDR(&m, h))
		take(h, with);
	with->known = os_sender_get(sock, &m, &sender) == 0;
	if (with->known) {
		with->uid = sender.uid;
		with->pid = sender.pid;
	}
	return n;
}
