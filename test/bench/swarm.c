/* swarm.c - many clients, and a server that costs next to nothing.
 * SPDX-License-Identifier: ISC
 *
 * What a pooler of several threads can carry would be hidden behind PostgreSQL and
 * pgbench, which take more of the machine than it does. So one thread here plays
 * PostgreSQL: it lets everybody in and answers each query with nothing, after
 * DELAY_US. Another plays CLIENTS: each asks, waits for the answer and asks again;
 * or, with "login", logs in and leaves, again and again. With "prepared" it asks by a
 * statement that it has prepared. Client i is of the database i % DATABASES: s0, ...
 *
 *   swarm STUB_PORT POOLER_PORT CLIENTS DATABASES SECONDS DELAY_US
 *       [login] [tls] [prepared]
 *
 * It says "start" once all are in and warm, and in the end one line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"

#define EVENTS_PER_TURN 256
#define MAX_FD 16384
#define READY_LEN 6		/* bytes of ReadyForQuery */
#define ANSWER_DONE 14		/* ... and of CommandComplete */
#define LOGINS_AT_A_TIME 64
#define LONGEST_US (1 << 23)	/* what took longer counts as this */
#define WARM_UP_NS 300000000u
#define CLIENT_LIMIT 10000
#define FAILURES_BORNE 1000

enum state { TO_DIAL, TO_ASK_TLS, HANDSHAKE, LOGIN, READY, ASKED };

struct client {
	int fd;
	enum state state;
	SSL *ssl;			/* NULL: in the clear */
	int database;
	uint64_t since;			/* of what it waits for, ns */
	uint32_t done;
	char tail[READY_LEN];		/* of what it was told */
};

static struct {
	struct sockaddr_in pooler;
	int listen_fd;
	int client_count;
	int database_count;
	uint64_t length_ns;
	uint64_t delay_ns;
	bool logs_in, prepares;
	SSL_CTX *tls;
} swarm;

static struct client clients[CLIENT_LIMIT];
static int epoll_fd, dialing, next_to_dial;
static bool measures;
static pthread_t server;
static struct used {
	uint64_t clients, server;	/* ns of CPU time */
} used;
static uint32_t took[LONGEST_US + 1];
static uint64_t done, failed;

static const char query[] = "Q\0\0\0\x0dselect 1";
static const char prepare[] = "P\0\0\0\x11s\0select 1\0\0\0S\0\0\0\4";
static const char execute[] = "B\0\0\0\x0d\0s\0\0\0\0\0\0\0"
    "E\0\0\0\x09\0\0\0\0\0S\0\0\0\4";
static const char terminate[] = "X\0\0\0\4";
static const char ssl_request[] = "\0\0\0\x08\x04\xd2\x16\x2f";

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of a thread. */
static uint64_t used_ns(pthread_t thread)
{
	clockid_t clock;
	struct timespec t;

	if (pthread_getcpuclockid(thread, &clock) != 0 ||
	    clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static void no_delay(int fd)
{
	const int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void watch(int epoll, int fd, uint32_t events, void *of)
{
	struct epoll_event ev = { .events = events, .data.ptr = of };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		die("epoll_ctl");
}

/* --- the server ------------------------------------------------------------- */

static const char welcome[] =
    "R\0\0\0\x08\0\0\0\0"
    "S\0\0\0\x18server_version\00015.0\0"
    "S\0\0\0\031client_encoding\0UTF8\0"
    "S\0\0\0\x17" "DateStyle\0ISO, MDY\0"
    "S\0\0\0\x15TimeZone\0Etc/UTC\0"
    "S\0\0\0\x23standard_conforming_strings\0on\0"
    "S\0\0\0\x19integer_datetimes\0on\0"
    "K\0\0\0\x0c\0\0\0\1\0\0\0\1"
    "Z\0\0\0\5I";
static const char answer[] = "C\0\0\0\x0dSELECT 0\0Z\0\0\0\5I";

struct owed {
	uint64_t due;
	int fd;
};

static struct owed owed[MAX_FD];	/* a ring; each fd is owed one at most */
static unsigned first_owed, last_owed;

static void tell(int fd, const char *text, size_t len)
{
	/* the receiver may be gone */
	(void)!send(fd, text, len, MSG_NOSIGNAL);
}

static void pay(uint64_t now)
{
	for (; first_owed != last_owed; first_owed++) {
		const struct owed *o = &owed[first_owed % MAX_FD];

		if (o->due > now)
			return;
		tell(o->fd, answer, sizeof answer - 1);
	}
}

/* Messages of a batch, which come whole: each is short. */
static void obey(int fd, const char *m, size_t size)
{
	static const char *const said[256] = { ['P'] = "1\0\0\0\4",
		['B'] = "2\0\0\0\4", ['C'] = "3\0\0\0\4" };
	char out[4096];
	size_t n = 0;
	uint32_t len;

	for (; size > 4 && n < sizeof out - 64; m += len, size -= len) {
		memcpy(&len, m + 1, sizeof len);
		len = ntohl(len) + 1;
		if (len > size)
			break;
		const char *const text = *m == 'E' ? answer : *m == 'S' ?
		    answer + ANSWER_DONE : said[(uint8_t)*m];
		const size_t part = *m == 'E' ? ANSWER_DONE : *m == 'S' ?
		    READY_LEN : 5;

		if (text == NULL)
			break;
		memcpy(out + n, text, part);
		n += part;
	}
	if (size > 0)
		die("what is this?");
	tell(fd, out, n);
}

static void serve(int fd)
{
	static char buf[65536];
	const ssize_t n = recv(fd, buf, sizeof buf, 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || buf[0] == 'X')
		close(fd);
	else if (buf[0] == '\0')	/* a start-up packet has no type */
		tell(fd, welcome, sizeof welcome - 1);
	else if (buf[0] != 'Q')
		obey(fd, buf, (size_t)n);
	else if (swarm.delay_ns == 0)
		tell(fd, answer, sizeof answer - 1);
	else
		owed[last_owed++ % MAX_FD] =
		    (struct owed){ now_ns() + swarm.delay_ns, fd };
}

static void *play_server(void *arg)
{
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[EVENTS_PER_TURN];
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = swarm.listen_fd };

	(void)arg;
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, swarm.listen_fd, &ev) < 0)
		die("epoll");
	for (;;) {
		struct timespec wait = { 0 };
		const uint64_t now = now_ns();
		const bool owes = first_owed != last_owed;

		if (owes && owed[first_owed % MAX_FD].due > now)
			wait.tv_nsec =
			    (long)(owed[first_owed % MAX_FD].due - now);
		const int n = epoll_pwait2(epoll, events, EVENTS_PER_TURN,
		    owes ? &wait : NULL, NULL);

		for (int i = 0; i < n; i++) {
			ev.data.fd = events[i].data.fd;
			if (ev.data.fd != swarm.listen_fd) {
				serve(ev.data.fd);
				continue;
			}
			ev.data.fd = accept4(swarm.listen_fd, NULL, NULL,
			    SOCK_CLOEXEC | SOCK_NONBLOCK);
			if (ev.data.fd < 0)
				continue;
			no_delay(ev.data.fd);
			epoll_ctl(epoll, EPOLL_CTL_ADD, ev.data.fd, &ev);
		}
		if (swarm.delay_ns > 0)
			pay(now_ns());
	}
	return NULL;
}

/* --- the clients ------------------------------------------------------------ */

static void say(struct client *c, const char *text, size_t len)
{
	if (c->ssl != NULL)
		SSL_write(c->ssl, text, (int)len);
	else
		tell(c->fd, text, len);
}

static void log_in(struct client *c)
{
	char packet[64];
	const int len = 4 + snprintf(packet + 4, sizeof packet - 4,
	    "%c%c%c%cuser%cswarm%cdatabase%cs%d%c", 0, 3, 0, 0, 0, 0, 0,
	    c->database, 0) + 1;

	memcpy(packet, &(uint32_t){ htonl((uint32_t)len) }, 4);
	c->state = LOGIN;
	say(c, packet, (size_t)len);
}

static void dial(struct client *c)
{
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	c->since = now_ns();
	if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&swarm.pooler,
	    sizeof swarm.pooler) < 0)
		die("connect");
	no_delay(c->fd);
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	watch(epoll_fd, c->fd, EPOLLIN, c);
	dialing++;
	if (swarm.tls == NULL) {
		log_in(c);
		return;
	}
	c->state = TO_ASK_TLS;
	tell(c->fd, ssl_request, sizeof ssl_request - 1);
}

static void hang_up(struct client *c)
{
	if (c->ssl != NULL)
		SSL_free(c->ssl);
	c->ssl = NULL;
	close(c->fd);
	c->state = TO_DIAL;
}

static void ask(struct client *c)
{
	c->state = ASKED;
	c->since = now_ns();
	if (swarm.prepares)
		say(c, execute, sizeof execute - 1);
	else
		say(c, query, sizeof query);
}

static void count(struct client *c)
{
	const uint64_t us = (now_ns() - c->since) / 1000;

	if (!measures)
		return;
	took[us < LONGEST_US ? us : LONGEST_US]++;
	c->done++;
	done++;
}

/* What it waited for is there. */
static void go_on(struct client *c)
{
	const bool was_login = c->state == LOGIN;

	dialing -= was_login;
	if (was_login == swarm.logs_in)
		count(c);
	if (swarm.logs_in) {
		say(c, terminate, sizeof terminate - 1);
		hang_up(c);
		dial(c);
		return;
	}
	if (was_login && swarm.prepares) {
		c->state = READY;
		say(c, prepare, sizeof prepare - 1);
		return;
	}
	c->state = READY;
	ask(c);
}

static void shake_hands(struct client *c)
{
	if (SSL_connect(c->ssl) == 1)
		log_in(c);
}

static void begin_tls(struct client *c)
{
	char word;

	if (recv(c->fd, &word, 1, 0) != 1 || word != 'S')
		die("TLS");
	c->ssl = SSL_new(swarm.tls);
	if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1)
		die("SSL_new");
	c->state = HANDSHAKE;
	shake_hands(c);
}

/* Returns false at the end of what there is, or of the connection. */
static bool hear(struct client *c)
{
	char buf[4096];
	const ssize_t n = c->ssl != NULL ? SSL_read(c->ssl, buf, sizeof buf) :
	    recv(c->fd, buf, sizeof buf, 0);

	if (n <= 0) {
		const bool later = c->ssl != NULL ?
		    SSL_get_error(c->ssl, (int)n) == SSL_ERROR_WANT_READ :
		    n < 0 && errno == EAGAIN;

		if (later)
			return false;
	}
	if (n <= 0 || buf[0] == 'E') {
		if (++failed > FAILURES_BORNE)
			die("the pooler does not let us in");
		dialing -= c->state == LOGIN;
		hang_up(c);
		dial(c);
		return false;
	}
	const size_t len = (size_t)n < READY_LEN ? (size_t)n : READY_LEN;

	memmove(c->tail, c->tail + len, READY_LEN - len);
	memcpy(c->tail + READY_LEN - len, buf + n - len, len);
	if (memcmp(c->tail, "Z\0\0\0\5I", READY_LEN) != 0)
		return c->ssl != NULL;
	memset(c->tail, 0, READY_LEN);
	go_on(c);
	return false;
}

static void look(struct client *c)
{
	switch (c->state) {
	case TO_ASK_TLS:
		begin_tls(c);
		return;
	case HANDSHAKE:
		shake_hands(c);
		return;
	default:
		while (hear(c))
			;
	}
}

static void turn(void)
{
	struct epoll_event events[EVENTS_PER_TURN];
	const int n = epoll_wait(epoll_fd, events, EVENTS_PER_TURN, 100);

	for (int i = 0; i < n; i++)
		look(events[i].data.ptr);
	while (next_to_dial < swarm.client_count && dialing < LOGINS_AT_A_TIME)
		dial(&clients[next_to_dial++]);
}

static void turn_until(uint64_t end)
{
	while (now_ns() < end)
		turn();
}

static unsigned percentile(double share)
{
	uint64_t left = (uint64_t)((double)done * share);

	for (unsigned us = 0; us < LONGEST_US; us++) {
		if (took[us] > left)
			return us;
		left -= took[us];
	}
	return LONGEST_US;
}

static void report(double seconds)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (int i = 0; i < swarm.client_count; i++) {
		least = clients[i].done < least ? clients[i].done : least;
		most = clients[i].done > most ? clients[i].done : most;
	}
	printf("{\"done\": %llu, \"failed\": %llu, \"seconds\": %.6f, "
	    "\"p50\": %u, \"p99\": %u, \"p999\": %u, \"least\": %u, \"most\": %u, "
	    "\"clients_ns\": %llu, \"server_ns\": %llu}\n",
	    (unsigned long long)done, (unsigned long long)failed, seconds,
	    percentile(0.5), percentile(0.99), percentile(0.999), least, most,
	    (unsigned long long)(used_ns(pthread_self()) - used.clients),
	    (unsigned long long)(used_ns(server) - used.server));
}

static void play_clients(void)
{
	for (int i = 0; i < swarm.client_count; i++)
		clients[i].database = i % swarm.database_count;
	while (next_to_dial < swarm.client_count ||
	    (!swarm.logs_in && dialing > 0))
		turn();
	turn_until(now_ns() + WARM_UP_NS);
	puts("start");
	fflush(stdout);
	const uint64_t begin = now_ns();

	failed = 0;
	used = (struct used){ used_ns(pthread_self()), used_ns(server) };
	measures = true;
	turn_until(begin + swarm.length_ns);
	report((double)(now_ns() - begin) / 1e9);
	fflush(stdout);
}

static int listen_at(const char *port)
{
	const int one = 1;
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = parse_port(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		die(port);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc < 7) {
		fprintf(stderr, "usage: swarm STUB_PORT POOLER_PORT CLIENTS "
		    "DATABASES SECONDS DELAY_US [login] [tls] [prepared]\n");
		return 2;
	}
	swarm.listen_fd = listen_at(argv[1]);
	swarm.pooler = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = parse_port(argv[2]),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	swarm.client_count = atoi(argv[3]);
	swarm.database_count = atoi(argv[4]);
	swarm.length_ns = (uint64_t)(atof(argv[5]) * 1e9);
	swarm.delay_ns = (uint64_t)atoi(argv[6]) * 1000;
	for (int i = 7; i < argc; i++) {
		swarm.logs_in |= strcmp(argv[i], "login") == 0;
		swarm.prepares |= strcmp(argv[i], "prepared") == 0;
		if (strcmp(argv[i], "tls") == 0)
			swarm.tls = SSL_CTX_new(TLS_client_method());
	}
	if (swarm.client_count < 1 || swarm.client_count > CLIENT_LIMIT ||
	    swarm.database_count < 1)
		return 2;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0 || pthread_create(&server, NULL, play_server, NULL) != 0)
		die("swarm");
	/* the pooler may start now */
	puts("listening");
	fflush(stdout);
	play_clients();
	return 0;
}
