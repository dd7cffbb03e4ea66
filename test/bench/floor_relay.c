/* floor_relay.c - the cheapest honest event loop between clients and a server.
 * SPDX-License-Identifier: ISC
 *
 * One epoll set, one recv and one send per burst and direction, no parsing,
 * no pooling: each client gets a server connection of its own.  A pooler's
 * CPU time per transaction is measured against this.
 *
 * Sends block on purpose: waiting for room inside send() is cheaper than any
 * queue.  So a client that never reads stops all others, until the send time
 * limit cuts it off.  A floor may do that, a pooler may not.
 *
 *   floor_relay LISTEN_PORT SERVER_PORT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "floor.h"

#define EVENTS_PER_TURN 256
#define SEND_LIMIT_SECONDS 4 /* without any progress, for one send */

struct side {
	int fd;		   /* -1 once the pair is closed */
	struct side *peer; /* the other half of the pair */
};

struct pair {
	struct side client; /* first: its address is the pair's */
	struct side server;
	struct pair *next_dead; /* closed in this turn, freed after it */
};

struct relay {
	int epoll_fd;
	struct side listener;  /* peer is NULL */
	in_port_t server_port; /* network byte order */
	struct pair *dead;
	char buf[65536];
};

static struct sockaddr_in loopback(in_port_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = port,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int watch(const struct relay *r, struct side *s)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = s };

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev);
}

static void set_options(int fd)
{
	const int one = 1;
	const struct timeval limit = { .tv_sec = SEND_LIMIT_SECONDS };

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static int connect_server(const struct relay *r)
{
	const struct sockaddr_in addr = loopback(r->server_port);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof addr) < 0) {
		perror("floor_relay: connect");
		close(fd);
		return -1;
	}
	return fd;
}

/* The peer may have an event later in this turn: memory lives until its end. */
static void close_pair(struct relay *r, struct side *s)
{
	struct pair *p = (struct pair *)(void *)(s < s->peer ? s : s->peer);

	close(p->client.fd);
	close(p->server.fd);
	p->client.fd = p->server.fd = -1;
	p->next_dead = r->dead;
	r->dead = p;
}

static void free_dead(struct relay *r)
{
	while (r->dead != NULL) {
		struct pair *p = r->dead;

		r->dead = p->next_dead;
		free(p);
	}
}

/* Returns -1 when going on makes no sense, such as out of descriptors. */
static int open_pair(struct relay *r)
{
	const int client = accept4(r->listener.fd, NULL, NULL, SOCK_CLOEXEC);

	if (client < 0)
		return errno == EINTR || errno == ECONNABORTED ? 0 : -1;
	const int server = connect_server(r);
	if (server < 0) {
		close(client);
		return 0;
	}
	struct pair *p = calloc(1, sizeof *p);
	if (p == NULL)
		return -1;
	p->client = (struct side){ .fd = client, .peer = &p->server };
	p->server = (struct side){ .fd = server, .peer = &p->client };
	set_options(client);
	set_options(server);
	if (watch(r, &p->client) < 0 || watch(r, &p->server) < 0)
		return -1;
	return 0;
}

static int send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		const ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static void forward(struct relay *r, struct side *s)
{
	const ssize_t n = recv(s->fd, r->buf, sizeof r->buf, 0);

	if (n < 0 && errno == EINTR)
		return; /* level-triggered: the event comes back */
	if (n <= 0 || send_all(s->peer->fd, r->buf, (size_t)n) < 0)
		close_pair(r, s);
}

static int run_turn(struct relay *r)
{
	struct epoll_event evs[EVENTS_PER_TURN];
	const int n = epoll_wait(r->epoll_fd, evs, EVENTS_PER_TURN, -1);

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	for (int i = 0; i < n; i++) {
		struct side *s = evs[i].data.ptr;

		if (s->peer != NULL && s->fd >= 0)
			forward(r, s);
		else if (s->peer == NULL && open_pair(r) < 0)
			return -1;
	}
	free_dead(r);
	return 0;
}

static int listen_on(struct relay *r, in_port_t port)
{
	const struct sockaddr_in addr = loopback(port);
	const int one = 1;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	r->listener.fd = fd;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (const struct sockaddr *)&addr, sizeof addr) < 0)
		return -1;
	if (listen(fd, SOMAXCONN) < 0)
		return -1;
	return watch(r, &r->listener);
}

int main(int argc, char **argv)
{
	struct relay r = { .epoll_fd = -1, .listener.fd = -1 };
	const in_port_t port = argc == 3 ? parse_port(argv[1]) : 0;

	r.server_port = argc == 3 ? parse_port(argv[2]) : 0;
	if (port == 0 || r.server_port == 0) {
		fprintf(stderr, "usage: floor_relay LISTEN_PORT SERVER_PORT\n");
		return 2;
	}
	if (listen_on(&r, port) < 0) {
		perror("floor_relay: listen");
		return 1;
	}
	while (run_turn(&r) == 0)
		continue;
	perror("floor_relay");
	return 1;
}
