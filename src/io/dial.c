/* dial.c - connect to the first of several hosts that answers.
 * SPDX-License-Identifier: ISC */
#include "io/dial.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/container.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/dns.h"
#include "io/loop.h"

/* One attempt: a name that is looked up, or a connect that is under way. */
struct attempt {
	struct loop_socket socket;	/* of fd */
	struct dial *dial;
	struct dial_place at;
	struct dns_query *query;	/* owned; NULL: the attempt connects */
	int fd;				/* owned; -1: the name is looked up */
	struct attempt *prev, *next;
};

struct dial {
	struct loop *loop;		/* borrowed */
	struct dns *dns;		/* borrowed */
	const struct dial_ops *ops;
	void *arg;
	struct dial_host *hosts;	/* owned */
	unsigned host_count, next_host;
	struct dial_place *places;	/* owned: what names have become */
	unsigned place_count, next_place;
	unsigned rotation;
	struct socket_opts opts;
	struct event *timer;		/* owned: the head start is over */
	struct loop_task task;		/* the first step */
	struct attempt *attempts;	/* DL list, owned: under way */
};

static void attempt_free(struct attempt *a)
{
	DL_DELETE(a->dial->attempts, a);
	if (a->query != NULL)
		dns_cancel(a->query);
	if (a->fd >= 0) {
		loop_remove(a->dial->loop, a->fd, &a->socket);
		close(a->fd);
	}
	mem_free(a);
}

static void missed(struct dial *d, const struct dial_place *at,
    enum dial_miss why, int error)
{
	d->ops->missed(d->arg, at, why, error);
}

void dial_cancel(struct dial **dp, bool blame)
{
	struct dial *d = *dp;

	*dp = NULL;
	if (d == NULL)
		return;
	while (d->attempts != NULL) {
		const struct dial_place at = d->attempts->at;

		attempt_free(d->attempts);
		if (blame)
			missed(d, &at, DIAL_SLOW, 0);
	}
	loop_cancel(&d->task);
	if (d->timer != NULL)
		event_free(d->timer);
	mem_free(d->places);
	mem_free(d->hosts);
	mem_free(d);
}

/* The dial is over: slower attempts are told as missed. */
static void finish(struct dial *d, int fd, const struct dial_place *at)
{
	const struct dial_ops *const ops = d->ops;
	void *const arg = d->arg;
	struct attempt *a, *next;

	DL_FOREACH_SAFE(d->attempts, a, next) {
		if (fd >= 0)
			missed(d, &a->at, DIAL_SLOW, 0);
	}
	dial_cancel(&d, false);
	ops->done(arg, fd, at);
}

static struct attempt *attempt_new(struct dial *d,
    const struct dial_place *at)
{
	struct attempt *a = mem_zalloc(sizeof *a);

	if (a == NULL)
		return NULL;
	a->dial = d;
	a->at = *at;
	a->fd = -1;
	DL_APPEND(d->attempts, a);
	return a;
}

static void step(struct dial *d);

/* The connect has ended, well or not. */
static void on_writable(struct loop_socket *socket, uint32_t events)
{
	struct attempt *a = container_of(socket, struct attempt, socket);
	struct dial *d = a->dial;
	const struct dial_place at = a->at;
	const int fd = a->fd;
	const int error = socket_error(fd);

	(void)events;
	if (error == 0) {
		/* is the caller's from here on */
		loop_remove(d->loop, fd, &a->socket);
		a->fd = -1;
	}
	attempt_free(a);
	if (error == 0) {
		finish(d, fd, &at);
		return;
	}
	missed(d, &at, DIAL_NO_CONNECT, error);
	step(d);
}

static bool begin_connect(struct dial *d, const struct dial_place *at)
{
	const char *const path = d->hosts[at->host].path;
	struct attempt *a;
	struct err e;

	if (d->ops->may_use != NULL && !d->ops->may_use(d->arg, at)) {
		missed(d, at, DIAL_BARRED, 0);
		return false;
	}
	a = attempt_new(d, at);
	if (a != NULL) {
		errno = 0;
		a->fd = path != NULL ? socket_connect_unix(path, &e) :
		    socket_connect_tcp(&at->addr, &d->opts, &e);
		a->socket.on_event = on_writable;
		if (a->fd >= 0 &&
		    loop_add(d->loop, a->fd, LOOP_OUT, &a->socket) == 0)
			return true;
	}
	const int error = a != NULL && a->fd < 0 ? errno : ENOMEM;

	if (a != NULL)
		attempt_free(a);
	missed(d, at, DIAL_NO_START, error);
	return false;
}

/* Where host points to now; the next one to be tried is that of the turn. */
static int keep_places(struct dial *d, unsigned host,
    const struct net_addr *addrs, unsigned count)
{
	struct dial_place *const all = mem_resize(d->places,
	    (d->place_count + count) * sizeof *all);

	if (all == NULL)
		return -1;
	d->places = all;
	for (unsigned i = 0; i < count; i++) {
		struct dial_place *const p = &all[d->place_count++];

		p->host = host;
		p->addr = addrs[(d->rotation + i) % count];
		p->addr.port = d->hosts[host].addr.port;
	}
	return 0;
}

static void on_lookup(void *arg, const struct net_addr *addrs, unsigned count,
    int error)
{
	struct attempt *a = arg;
	struct dial *d = a->dial;
	const struct dial_place at = a->at;

	a->query = NULL;
	attempt_free(a);
	if (count == 0)
		missed(d, &at, DIAL_NO_NAME, error);
	else if (keep_places(d, at.host, addrs, count) < 0)
		missed(d, &at, DIAL_NO_START, ENOMEM);
	step(d);
}

static bool begin_lookup(struct dial *d, const struct dial_place *at)
{
	struct attempt *a = attempt_new(d, at);

	if (a != NULL)
		a->query = dns_lookup(d->dns, d->hosts[at->host].name,
		    on_lookup, a);
	if (a != NULL && a->query != NULL)
		return true;
	if (a != NULL)
		attempt_free(a);
	missed(d, at, DIAL_NO_START, ENOMEM);
	return false;
}

static bool is_at_end(const struct dial *d)
{
	return d->next_place == d->place_count &&
	    d->next_host == d->host_count;
}

/* Begin the next attempt; false: the attempt failed at once. */
static bool begin_next(struct dial *d)
{
	if (d->next_place < d->place_count) {
		/* copied: the array may move */
		const struct dial_place at = d->places[d->next_place++];

		return begin_connect(d, &at);
	}

	const unsigned host = d->next_host++;
	const struct dial_host *const h = &d->hosts[host];
	struct dial_place at = { .host = host, .addr = h->addr };

	if (h->name == NULL)
		return begin_connect(d, &at);
	at.addr = (struct net_addr){ .family = NET_NONE };
	return begin_lookup(d, &at);
}

static void step(struct dial *d)
{
	static const struct timeval head_start = { 0, DIAL_HEAD_START };

	event_del(d->timer);
	while (!is_at_end(d)) {
		if (!begin_next(d))
			continue;
		if (!is_at_end(d))
			(void)event_add(d->timer, &head_start);
		return;
	}
	if (d->attempts == NULL)
		finish(d, -1, NULL);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;

	(void)fd;
	(void)what;
	loop_woke(d->loop);
	step(d);
}

static void on_start(struct loop_task *t)
{
	step(container_of(t, struct dial, task));
}

struct dial *dial_start(const struct dial_plan *plan,
    const struct dial_ops *ops, void *arg)
{
	struct dial *d = mem_zalloc(sizeof *d);

	if (d == NULL)
		return NULL;
	d->loop = plan->loop;
	d->dns = plan->dns;
	d->ops = ops;
	d->arg = arg;
	d->rotation = plan->rotation;
	d->opts = plan->opts;
	d->host_count = plan->count;
	d->hosts = mem_dup(plan->hosts, plan->count * sizeof *plan->hosts);
	d->timer = evtimer_new(loop_base(d->loop), on_timer, d);
	d->task.run = on_start;
	if (d->hosts == NULL || d->timer == NULL)
		dial_cancel(&d, false);
	else
		loop_again(d->loop, &d->task);
	return d;
}
