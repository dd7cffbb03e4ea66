/* socket_posix.c - what sockets of all systems can do.
 * SPDX-License-Identifier: ISC */
#include "io/socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* Some systems tell by POLLHUP alone, and some of them only of both directions. */
#ifdef POLLRDHUP
#define END (POLLRDHUP | POLLHUP | POLLERR)
#else
#define END (POLLHUP | POLLERR)
#endif

bool socket_is_tcp(int fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;

	return getsockname(fd, (struct sockaddr *)&ss, &len) == 0 &&
	    (ss.ss_family == AF_INET || ss.ss_family == AF_INET6);
}

/* Where no flag tells, an end behind bytes that are not read is not seen yet. */
bool socket_is_left(int fd)
{
	struct pollfd p = { .fd = fd, .events = END };

	return (poll(&p, 1, 0) == 1 && (p.revents & END) != 0) ||
	    socket_has_ended(fd);
}

/* The default is on, and it only saves time. */
int socket_defer_accept(int fd, bool on, struct err *e)
{
	(void)fd;
	(void)on;
	(void)e;
	return 0;
}

int socket_ignore_new(int fd)
{
	(void)fd;
	errno = ENOSYS;
	return -1;
}

void socket_hear_new(int fd)
{
	(void)fd;
}
