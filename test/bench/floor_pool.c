/* floor_pool.c - the cheapest honest pooler: clients come, wait and go.
 * SPDX-License-Identifier: ISC
 *
 * Who connects is asked nothing: its start-up packet is answered with what
 * PostgreSQL told the first server connection. What it sends then goes to a
 * server connection that is free, until that says ReadyForQuery; while none of
 * POOL_SIZE is, it stays in the socket. No call to the system is made that is
 * not needed, and nothing is allocated. So the CPU time of a connection, or of
 * a transaction of one among many clients, is what the kernel takes for it, and
 * a pooler's can be compared with it.
 *
 * It trusts everybody: each burst is a whole message, short enough to be sent
 * at once; servers are opened as they are needed, one after the other.
 *
 *   floor_pool LISTEN_PORT SERVER_PORT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

#define EVENTS_PER_TURN 256
#define MAX_FD 8192
#define POOL_SIZE 20
#define READY_LEN 6	/* bytes of ReadyForQuery */
#define DEFER_SECONDS 1

struct pooler {
	int epoll_fd;
	int listen_fd;
	struct sockaddr_in server;
	size_t greeting_len;
	int server_count;
	int idle_count;
	int idle[POOL_SIZE];	/* servers */
	unsigned first_waiting;
	unsigned last_waiting;
	int waiting[MAX_FD];	/* clients, a ring */
	int peer[MAX_FD];	/* by descriptor; 0 = none, -1 = waits for one */
	bool is_server[MAX_FD];
	char greeting[4096];
	char buf[65536];
};

static const char startup[] = "\0\0\0\x23\0\3\0\0user\0bench\0database\0bench\0";

static int watch(const struct pooler *p, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static bool is_ready(const char *p, size_t len)
{
	return len >= READY_LEN &&
	    memcmp(p + len - READY_LEN, "Z\0\0\0\5I", READY_LEN) == 0;
}

/* Log in and keep the answer. Returns the descriptor, or -1. */
static int open_server(struct pooler *p)
{
	const int one = 1;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || fd >= MAX_FD)
		return -1;
	if (connect(fd, (const struct sockaddr *)&p->server,
	    sizeof p->server) < 0 ||
	    send(fd, startup, sizeof startup, MSG_NOSIGNAL) < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	size_t len = 0;
	while (!is_ready(p->greeting, len)) {
		const ssize_t n = recv(fd, p->greeting + len,
		    sizeof p->greeting - len, 0);

		if (n <= 0)
			return -1;
		len += (size_t)n;
	}
	p->greeting_len = len;
	p->is_server[fd] = true;
	p->server_count++;
	return watch(p, fd, EPOLLIN | EPOLLET) < 0 ? -1 : fd;
}

/* Returns -1 when going on makes no sense. */
static int welcome(struct pooler *p)
{
	const int fd = accept4(p->listen_fd, NULL, NULL,
	    SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? 0 : -1;
	if (fd >= MAX_FD)
		return -1;
	p->peer[fd] = 0;
	/* the start-up packet is here: the kernel waited for it */
	if (recv(fd, p->buf, sizeof p->buf, 0) <= 0 ||
	    send(fd, p->greeting, p->greeting_len, MSG_NOSIGNAL) < 0)
		close(fd);
	else if (watch(p, fd, EPOLLIN | EPOLLET) < 0)
		return -1;
	return 0;
}

static int free_server(struct pooler *p)
{
	if (p->idle_count > 0)
		return p->idle[--p->idle_count];
	return p->server_count < POOL_SIZE ? open_server(p) : -1;
}

/* What the client sent, to its server. Returns 1 if it left instead. */
static int forward(struct pooler *p, int fd, int server)
{
	const ssize_t n = recv(fd, p->buf, sizeof p->buf, 0);

	if (n <= 0 || p->buf[0] == 'X') {
		close(fd);
		return 1;
	}
	p->peer[fd] = server;
	p->peer[server] = fd;
	return send(server, p->buf, (size_t)n, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int on_client(struct pooler *p, int fd)
{
	if (p->peer[fd] < 0)
		return 0;	/* waits already */
	const int server = p->peer[fd] > 0 ? p->peer[fd] : free_server(p);

	if (server < 0) {
		p->peer[fd] = -1;
		p->waiting[p->last_waiting++ % MAX_FD] = fd;
		return 0;
	}
	const bool is_new = p->peer[fd] == 0;
	const int rc = forward(p, fd, server);

	if (rc > 0 && is_new)
		p->idle[p->idle_count++] = server;
	return rc < 0 ? -1 : 0;
}

/* The server is free: for who has waited longest. */
static int next_client(struct pooler *p, int server)
{
	while (p->first_waiting != p->last_waiting) {
		const int fd = p->waiting[p->first_waiting++ % MAX_FD];
		const int rc = forward(p, fd, server);

		if (rc <= 0)
			return rc;
	}
	p->idle[p->idle_count++] = server;
	return 0;
}

static int on_server(struct pooler *p, int fd)
{
	const ssize_t n = recv(fd, p->buf, sizeof p->buf, 0);
	const int client = p->peer[fd];

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return -1;
	(void)send(client, p->buf, (size_t)n, MSG_NOSIGNAL);
	if (!is_ready(p->buf, (size_t)n))
		return 0;
	p->peer[client] = p->peer[fd] = 0;
	return next_client(p, fd);
}

static int run_turn(struct pooler *p)
{
	struct epoll_event evs[EVENTS_PER_TURN];
	const int n = epoll_wait(p->epoll_fd, evs, EVENTS_PER_TURN, -1);
	int rc = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	for (int i = 0; i < n && rc == 0; i++) {
		const int fd = evs[i].data.fd;

		if (fd == p->listen_fd)
			rc = welcome(p);
		else if (p->is_server[fd])
			rc = on_server(p, fd);
		else
			rc = on_client(p, fd);
	}
	return rc;
}

static int listen_on(struct pooler *p, in_port_t port)
{
	struct sockaddr_in addr = p->server;
	const int one = 1, defer = DEFER_SECONDS;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	p->listen_fd = fd;
	addr.sin_port = port;
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	/* those that are accepted inherit it */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, sizeof defer);
	if (bind(fd, (const struct sockaddr *)&addr, sizeof addr) < 0)
		return -1;
	if (listen(fd, SOMAXCONN) < 0)
		return -1;
	return watch(p, fd, EPOLLIN);
}

int main(int argc, char **argv)
{
	static struct pooler p;
	const in_port_t port = argc == 3 ? parse_port(argv[1]) : 0;

	p.server = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = argc == 3 ? parse_port(argv[2]) : 0,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (port == 0 || p.server.sin_port == 0) {
		fprintf(stderr, "usage: floor_pool LISTEN_PORT SERVER_PORT\n");
		return 2;
	}
	p.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	const int first = p.epoll_fd < 0 ? -1 : open_server(&p);

	if (first < 0 || listen_on(&p, port) < 0) {
		perror("floor_pool");
		return 1;
	}
	p.idle[p.idle_count++] = first;
	while (run_turn(&p) == 0)
		continue;
	perror("floor_pool");
	return 1;
}
