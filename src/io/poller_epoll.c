/* poller_epoll.c - which sockets have events: an epoll set of its own.
 * SPDX-License-Identifier: ISC */
#include "io/poller.h"

#include <assert.h>
#include <event2/event.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/loop.h"

#define BATCH 256		/* sockets told of in one turn */

/* So that no event needs to be translated. */
static_assert(LOOP_IN == EPOLLIN && LOOP_OUT == EPOLLOUT, "epoll(7)");
static_assert(LOOP_ERROR == EPOLLERR && LOOP_GONE == EPOLLHUP, "epoll(7)");
static_assert(LOOP_END == EPOLLRDHUP && LOOP_EDGE == EPOLLET, "epoll(7)");

struct poller {
	struct loop *loop;		/* borrowed */
	struct event *event;		/* owned: there is something in set */
	int set;			/* epoll, owned */
	int next, count;		/* of batch: not told yet */
	struct epoll_event batch[BATCH];
};

const char *poller_name(void)
{
	return "epoll";
}

/* The set has events: call the sockets that epoll tells of. */
static void on_set(evutil_socket_t fd, short what, void *arg)
{
	struct poller *const p = arg;
	struct loop *const l = p->loop;

	(void)what;
	p->next = 0;
	p->count = epoll_wait(fd, p->batch, BATCH, 0);
	loop_woke(l);
	while (p->next < p->count) {
		const struct epoll_event *const e = &p->batch[p->next++];

		if (e->data.ptr != NULL)
			loop_tell(l, e->data.ptr, e->events);
	}
}

struct poller *poller_new(struct event_base *base, struct loop *l)
{
	struct poller *p = mem_zalloc(sizeof *p);

	if (p == NULL)
		return NULL;
	p->loop = l;
	p->set = epoll_create1(EPOLL_CLOEXEC);
	if (p->set >= 0)
		p->event = event_new(base, p->set, EV_READ | EV_PERSIST,
		    on_set, p);
	if (p->event == NULL || event_add(p->event, NULL) < 0)
		poller_free(&p);
	return p;
}

void poller_free(struct poller **pp)
{
	struct poller *const p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	if (p->event != NULL)
		event_free(p->event);
	if (p->set >= 0)
		close(p->set);
	mem_free(p);
}

/* Take s out of what is still to be told in this turn. */
static void forget(struct poller *p, const struct loop_socket *s)
{
	for (int i = p->next; i < p->count; i++) {
		if (p->batch[i].data.ptr == s)
			p->batch[i].data.ptr = NULL;
	}
}

int poller_add(struct poller *p, int fd, uint32_t events,
    struct loop_socket *s)
{
	struct epoll_event e = { .events = events, .data.ptr = s };

	return epoll_ctl(p->set, EPOLL_CTL_ADD, fd, &e);
}

void poller_change(struct poller *p, int fd, uint32_t events,
    struct loop_socket *s)
{
	struct epoll_event e = { .events = events, .data.ptr = s };

	forget(p, s);
	(void)epoll_ctl(p->set, EPOLL_CTL_MOD, fd, &e);
}

void poller_remove(struct poller *p, int fd, const struct loop_socket *s)
{
	forget(p, s);
	/* close() alone would not do: another process may have fd as well */
	(void)epoll_ctl(p->set, EPOLL_CTL_DEL, fd, NULL);
}

/* The kernel tells of each edge. */
void poller_await(struct poller *p, int fd)
{
	(void)p;
	(void)fd;
}
