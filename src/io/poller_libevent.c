/* poller_libevent.c - which sockets have events: libevent waits for each of them.
 *
 * libevent has methods that know levels only (poll, select). So each socket is
 * waited for by level, and LOOP_EDGE is made of that: a socket whose input was told
 * and that has input in the next turn too, although poller_await() was not called,
 * rests. The owner has left the input there, and learns nothing by hearing of it.
 *
 * The end of the connection is still to be told. Where the method knows edges
 * (epoll, kqueue), a resting socket is waited for by edge, and each edge asks
 * whether the peer is gone. The question is needed: an edge does not say that it is
 * a reset, and not every method says that it is an end (EV_CLOSED saves the
 * question). With other methods a resting socket is not waited for at all. A timer
 * asks for its end, so many sockets at a time.
 * SPDX-License-Identifier: ISC */
#include "io/poller.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <utlist.h>

#include "base/mem.h"
#include "io/loop.h"
#include "io/socket.h"

#define LOOK_TIME (USEC / 10)		/* from look to look */
#define LOOK_MAX 256			/* resting sockets, a look */

/* One socket. */
struct entry {
	struct event event;	/* first */
	struct poller *poller;
	struct loop_socket *socket;	/* borrowed */
	struct entry *prev, *next;	/* of resting */
	uint32_t events;		/* those that the owner wants */
	bool known;	/* libevent has event */
	bool lost;	/* there was no memory to wait for it */
	bool unread;	/* LOOP_IN was told, poller_await() was not called since */
	bool ended;	/* LOOP_END was told */
	bool rests;
};

struct poller {
	struct event_base *base;	/* borrowed */
	struct loop *loop;		/* borrowed */
	struct event *look;		/* owned: timer, while sockets rest */
	struct entry *resting;		/* DL list: looked at longest ago first */
	struct entry *now;		/* is told; NULL: it was removed */
	struct entry **at;		/* owned; by descriptor; NULL: none */
	size_t size;			/* of at */
	unsigned rest_count;
	short edge;	/* how a resting socket is waited for; 0: it is not */
};

const char *poller_name(void)
{
	return "libevent";
}

static void on_event(evutil_socket_t fd, short what, void *arg);

static void stop(struct entry *e)
{
	if (e->known)
		event_del(&e->event);
	e->known = e->lost = false;
}

/* What libevent is to wait for now. */
static short wanted(const struct entry *e)
{
	short what = 0;

	if ((e->events & LOOP_IN) != 0)
		what |= e->rests ? e->poller->edge : EV_READ;
	if ((e->events & LOOP_OUT) != 0)
		what |= EV_WRITE;
	return what;
}

/*
 * Returns 0 or -1. Whatever holds is told again. Without memory the next turn tells
 * of input, and whoever reads then asks again.
 */
static int start(struct entry *e, int fd)
{
	const short what = wanted(e);

	stop(e);
	if (what == 0)
		return 0;
	if (event_assign(&e->event, e->poller->base, fd, what | EV_PERSIST,
	    on_event, e) < 0)
		return -1;
	e->known = true;
	if (event_add(&e->event, NULL) == 0)
		return 0;
	e->lost = true;
	event_active(&e->event, EV_READ, 1);
	return -1;
}

static void rest(struct entry *e)
{
	static const struct timeval interval = { .tv_usec = LOOK_TIME };
	struct poller *const p = e->poller;

	if (p->rest_count++ == 0 && p->edge == 0)
		(void)event_add(p->look, &interval);
	DL_APPEND(p->resting, e);
	e->rests = true;
}

static void wake(struct entry *e)
{
	struct poller *const p = e->poller;

	if (!e->rests)
		return;
	DL_DELETE(p->resting, e);
	e->rests = false;
	if (--p->rest_count == 0)
		(void)event_del(p->look);
}

/* Returns false if the owner has removed the socket meanwhile. */
static bool tell(struct entry *e, uint32_t events)
{
	struct poller *const p = e->poller;

	p->now = e;
	if ((events & LOOP_IN) != 0)
		e->unread = true;
	if ((events & LOOP_END) != 0)
		e->ended = true;
	loop_tell(p->loop, e->socket, events);
	const bool there = p->now == e;

	p->now = NULL;
	return there;
}

/* Returns false if the owner has removed the socket. */
static bool tell_end(struct entry *e, int fd)
{
	return e->ended || (e->events & LOOP_END) == 0 ||
	    !socket_is_left(fd) || tell(e, LOOP_IN | LOOP_END);
}

/* Input was told, is told again, and is of no use to the owner. */
static void on_unread(struct entry *e, int fd)
{
	if (!tell_end(e, fd) || !e->unread || e->rests)
		return;
	rest(e);
	(void)start(e, fd);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct entry *const e = arg;
	const bool again = e->unread && (e->events & LOOP_EDGE) != 0;
	uint32_t events = 0;

	loop_woke(e->poller->loop);
	if ((what & EV_WRITE) != 0)
		events |= LOOP_OUT;
	if ((what & EV_CLOSED) != 0 && !e->ended)
		events |= LOOP_IN | LOOP_END;
	if ((what & EV_READ) != 0 && !again)
		events |= LOOP_IN;
	if (events != 0 && !tell(e, events))
		return;
	if (again && e->unread)
		on_unread(e, fd);
}

/* Those that were not looked at for the longest time. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct poller *const p = arg;
	const unsigned n = p->rest_count < LOOK_MAX ? p->rest_count : LOOK_MAX;

	(void)fd;
	(void)what;
	loop_woke(p->loop);
	for (unsigned i = 0; i < n && p->resting != NULL; i++) {
		struct entry *const e = p->resting;

		DL_DELETE(p->resting, e);
		DL_APPEND(p->resting, e);
		(void)tell_end(e, event_get_fd(&e->event));
	}
}

/* How a resting socket is waited for. */
static short edge_of(const struct event_base *base)
{
	const int features = event_base_get_features(base);

	if ((features & EV_FEATURE_ET) == 0)
		return 0;
	return EV_READ | EV_ET |
	    ((features & EV_FEATURE_EARLY_CLOSE) != 0 ? EV_CLOSED : 0);
}

struct poller *poller_new(struct event_base *base, struct loop *l)
{
	struct poller *p = mem_zalloc(sizeof *p);

	if (p == NULL)
		return NULL;
	p->base = base;
	p->loop = l;
	p->edge = edge_of(base);
	p->look = event_new(base, -1, EV_PERSIST, on_look, p);
	if (p->look == NULL)
		poller_free(&p);
	return p;
}

void poller_free(struct poller **pp)
{
	struct poller *const p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	if (p->look != NULL)
		event_free(p->look);
	mem_free(p->at);
	mem_free(p);
}

/* Make room for fd. Returns 0 or -1. */
static int grow(struct poller *p, size_t fd)
{
	size_t size = p->size == 0 ? 64 : p->size;

	while (size <= fd)
		size *= 2;
	if (size == p->size)
		return 0;
	struct entry **const at = mem_resize(p->at, size * sizeof *at);

	if (at == NULL)
		return -1;
	for (size_t i = p->size; i < size; i++)
		at[i] = NULL;
	p->at = at;
	p->size = size;
	return 0;
}

/* NULL: fd was not added. */
static struct entry *find(const struct poller *p, int fd)
{
	return fd >= 0 && (size_t)fd < p->size ? p->at[fd] : NULL;
}

int poller_add(struct poller *p, int fd, uint32_t events,
    struct loop_socket *s)
{
	if (fd < 0 || grow(p, (size_t)fd) < 0)
		return -1;
	struct entry *const e = mem_zalloc(sizeof *e);

	if (e == NULL)
		return -1;
	e->poller = p;
	e->socket = s;
	e->events = events;
	if (start(e, fd) < 0) {
		stop(e);
		mem_free(e);
		return -1;
	}
	p->at[fd] = e;
	return 0;
}

void poller_change(struct poller *p, int fd, uint32_t events,
    struct loop_socket *s)
{
	struct entry *const e = find(p, fd);

	if (e == NULL)
		return;
	wake(e);
	e->unread = e->ended = false;
	e->socket = s;
	e->events = events;
	(void)start(e, fd);
}

void poller_remove(struct poller *p, int fd, const struct loop_socket *s)
{
	struct entry *const e = find(p, fd);

	(void)s;
	if (e == NULL)
		return;
	if (p->now == e)
		p->now = NULL;
	wake(e);
	stop(e);
	p->at[fd] = NULL;
	mem_free(e);
}

void poller_await(struct poller *p, int fd)
{
	struct entry *const e = find(p, fd);

	if (e == NULL)
		return;
	e->unread = false;
	if (!e->rests && !e->lost)
		return;
	wake(e);
	(void)start(e, fd);
}
