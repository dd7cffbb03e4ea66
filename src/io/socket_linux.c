/* socket_linux.c - what sockets of Linux can do.
 * SPDX-License-Identifier: ISC */
#include "io/socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"

#define HOPS_MAX 255

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof value);
}

bool socket_is_tcp(int fd)
{
	int protocol = 0;
	socklen_t len = sizeof protocol;

	return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 &&
	    protocol == IPPROTO_TCP;
}

bool socket_is_left(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 &&
	    (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

int socket_defer_accept(int fd, bool on, struct err *e)
{
	if (set_int(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, on) == 0)
		return 0;
	return err_set(e, ERRCODE_SYSTEM_ERROR,
	    "setsockopt(TCP_DEFER_ACCEPT): %s", strerror(errno));
}

/*
 * Of a listening socket it concerns SYNs alone, of a connection all: packets
 * that have been forwarded, or were not sent with the largest number (RFC
 * 5082), which nearly nobody does.
 */
static int set_least_hops(int fd, int value)
{
	int domain = AF_UNSPEC;
	socklen_t len = sizeof domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return -1;
	return domain == AF_INET6 ?
	    set_int(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, value) :
	    set_int(fd, IPPROTO_IP, IP_MINTTL, value);
}

int socket_ignore_new(int fd)
{
	/* of a TCP socket, a filter sees the segment: byte 13 has the flags */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02 /* SYN */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = {
		.len = sizeof code / sizeof code[0],
		.filter = code,
	};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
	    sizeof program) == 0)
		return 0;
	/* some kernels, and containers, let root only do that */
	return set_least_hops(fd, HOPS_MAX);
}

void socket_hear_new(int fd)
{
	(void)set_int(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
	(void)set_least_hops(fd, 0);
}
