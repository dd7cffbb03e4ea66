/* loop.c - the event loop: turns, sockets, tasks, fast_ticks, ticks and
 * signals.
 * SPDX-License-Identifier: ISC */
#include "io/loop.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdatomic.h>
#include <unistd.h>
#include <utlist.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/os.h"
#include "io/poller.h"

#define FAST_TICK (USEC / 1000)

struct source {
	struct event *ev;	/* owned */
	struct loop *loop;
	void (*tick)(void *);
	void (*on_signal)(int, void *);
	void *arg;
	struct source *next;
};

struct loop {
	struct event_base *base;	/* owned */
	struct event *timer;		/* owned: of fast_ticks, while there are */
	struct poller *poller;		/* owned */
	struct loop_task *again;	/* DL list: next turn */
	struct loop_task end;		/* where this turn's part of again ends */
	struct loop_task *dead;		/* DL list: end of this turn */
	struct loop_task *fast_ticks;	/* DL list: once each fast_tick */
	usec_t fast_ticked_at;			/* when the last fast_tick was */
	struct source *sources;		/* LL list, owned */
	struct offload *offload;	/* borrowed; NULL: it has none */
	int pipe[2];			/* for splice.c; or -1, -1 */
	bool stop;
	bool measured;
	usec_t began;	/* this turn, where its clock has moved on; 0 */
	usec_t longest;			/* turn since the load was taken */
	usec_t worked;			/* time_thread() then */
	unsigned turn;
	atomic_uint mark;	/* see loop_mark(); 0: the clock was not read yet */
	atomic_uint long_mark;		/* ... of the turn that is long; or 0 */
	struct loop_long now;		/* at work */
	void (*on_long)(void *, const struct loop_long *);
	void *on_long_arg;
	unsigned toil_turn;	/* the last one with toil */
	unsigned toil_refused;	/* last turn with too much toil */
	usec_t toil;		/* done in toil_turn */
	uint8_t buffer[LOOP_BUFFER];
};

/* Not to have one only costs time. */
static void open_pipe(int pipe[2])
{
	if (os_splice_pipe(pipe) < 0)
		pipe[0] = pipe[1] = -1;
}

void loop_drop_pipe(struct loop *l)
{
	if (l->pipe[0] < 0)
		return;
	close(l->pipe[0]);
	close(l->pipe[1]);
	l->pipe[0] = l->pipe[1] = -1;
}

/* The turn that this begins runs the tasks: run_fast_ticks(). */
static void on_fast_tick(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;

	(void)fd;
	(void)what;
	loop_woke(l);
	if (l->fast_ticks == NULL)
		event_del(l->timer);
}

static struct event_base *new_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	/* one thread: no locks inside libevent */
	if (cfg != NULL &&
	    event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK) == 0)
		base = event_base_new_with_config(cfg);
	if (cfg != NULL)
		event_config_free(cfg);
	return base;
}

struct loop *loop_new(void)
{
	struct loop *l = mem_zalloc(sizeof *l);

	if (l == NULL)
		return NULL;
	time_update();
	open_pipe(l->pipe);
	l->toil_refused = l->turn - 2;	/* never yet */
	l->base = new_base();
	if (l->base != NULL) {
		l->poller = poller_new(l->base, l);
		l->timer = event_new(l->base, -1, EV_PERSIST, on_fast_tick, l);
	}
	if (l->timer == NULL || l->poller == NULL)
		loop_free(&l);
	return l;
}

void loop_free(struct loop **lp)
{
	struct loop *l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	for (struct source *s = l->sources, *next; s != NULL; s = next) {
		next = s->next;
		event_free(s->ev);
		mem_free(s);
	}
	if (l->timer != NULL)
		event_free(l->timer);
	poller_free(&l->poller);
	if (l->base != NULL)
		event_base_free(l->base);
	loop_drop_pipe(l);
	mem_free(l);
}

struct event_base *loop_base(struct loop *l)
{
	return l->base;
}

const int *loop_pipe(const struct loop *l)
{
	return l->pipe[0] < 0 ? NULL : l->pipe;
}

unsigned loop_turn(const struct loop *l)
{
	return l->turn;
}

uint8_t *loop_buffer(struct loop *l)
{
	return l->buffer;
}

#define AT_WORK (1u << 31)

void loop_woke(struct loop *l)
{
	if (loop_mark(l) != 0)
		return;
	time_update();
	atomic_store_explicit(&l->mark, l->turn | AT_WORK,
	    memory_order_relaxed);
}

void loop_forward(struct loop *l)
{
	if (l->began == 0)
		l->began = time_now();
	time_update();
	const unsigned mark = loop_mark(l);

	/* what others have done meanwhile is not this loop's */
	if (mark != 0)
		atomic_store_explicit(&l->mark, mark ^ (AT_WORK >> 1),
		    memory_order_relaxed);
}

/* --- turns that are long --- */

unsigned loop_mark(const struct loop *l)
{
	return atomic_load_explicit(&l->mark, memory_order_relaxed);
}

void loop_note_long(struct loop *l, unsigned mark)
{
	atomic_store_explicit(&l->long_mark, mark, memory_order_relaxed);
}

void loop_on_long(struct loop *l,
    void (*fn)(void *, const struct loop_long *), void *arg)
{
	l->on_long = fn;
	l->on_long_arg = arg;
}

void loop_at(struct loop *l, const struct loop_socket *s)
{
	l->now.at = s;
}

static __attribute__((noinline, cold)) void tell_long(struct loop *l)
{
	const unsigned mark = atomic_exchange_explicit(&l->long_mark, 0,
	    memory_order_relaxed);

	/* it may have come to its end just when it was looked at */
	if (mark != loop_mark(l) || l->on_long == NULL)
		return;
	l->now.took = time_precise() -
	    (l->began != 0 ? l->began : time_now());
	l->on_long(l->on_long_arg, &l->now);
}

/* Hot: something was done. */
static inline void look_long(struct loop *l)
{
	if (atomic_load_explicit(&l->long_mark, memory_order_relaxed) != 0)
		tell_long(l);
}

bool loop_is_long(const struct loop *l)
{
	return time_precise() - (l->began != 0 ? l->began : time_now()) >=
	    LOOP_SHARE;
}

static void enter(struct loop_task **list, struct loop_task *t)
{
	DL_APPEND(*list, t);
	t->list = list;
}

static void leave(struct loop_task *t)
{
	DL_DELETE(*t->list, t);
	t->list = NULL;
}

/* Run what is listed now; what the calls add waits for the next turn. */
static void run_again(struct loop *l)
{
	if (l->again == NULL)
		return;
	enter(&l->again, &l->end);
	for (;;) {
		struct loop_task *t = l->again;

		leave(t);
		if (t == &l->end)
			return;
		l->now.at = NULL;
		t->run(t);
		look_long(l);
	}
}

static void run_dead(struct loop *l)
{
	while (l->dead != NULL) {
		struct loop_task *t = l->dead;

		leave(t);
		t->run(t);
	}
}

/* Each task once: a task that asks meanwhile waits for the next fast_tick. */
static void run_fast_ticks(struct loop *l)
{
	if (l->fast_ticks == NULL || time_now() - l->fast_ticked_at < FAST_TICK)
		return;
	l->fast_ticked_at = time_now();
	enter(&l->fast_ticks, &l->end);
	for (;;) {
		struct loop_task *t = l->fast_ticks;

		leave(t);
		if (t == &l->end)
			return;
		enter(&l->fast_ticks, t);
		l->now.at = NULL;
		t->run(t);
		look_long(l);
	}
}

void loop_tell(struct loop *l, struct loop_socket *s, uint32_t events)
{
	l->now.at = s;
	s->on_event(s, events);
	look_long(l);
}

/* Sleep until something happens, unless a task waits for its turn. */
static void wait_for_events(struct loop *l)
{
	const int now = l->again != NULL ? EVLOOP_NONBLOCK : 0;

	event_base_loop(l->base, EVLOOP_ONCE | now);
	loop_woke(l);
}

static void measure_turn(struct loop *l)
{
	const usec_t took = time_precise() -
	    (l->began != 0 ? l->began : time_now());

	l->began = 0;
	if (took > l->longest)
		l->longest = took;
}

void loop_measure(struct loop *l)
{
	l->measured = true;
}

bool loop_take_load(struct loop *l, struct loop_load *load)
{
	const usec_t worked = time_thread();

	*load = (struct loop_load){ worked - l->worked, l->longest };
	l->worked = worked;
	l->longest = 0;
	return l->measured;
}

void loop_run(struct loop *l, void (*after_turn)(void *), void *arg)
{
	l->stop = false;
	if (l->worked == 0)
		l->worked = time_thread();
	while (!l->stop) {
		atomic_store_explicit(&l->mark, 0, memory_order_relaxed);
		l->turn++;
		wait_for_events(l);
		run_fast_ticks(l);
		run_again(l);
		l->now.at = NULL;
		if (after_turn != NULL)
			after_turn(arg);
		look_long(l);
		run_dead(l);
		if (l->measured)
			measure_turn(l);
	}
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

/* --- tasks --- */

void loop_again(struct loop *l, struct loop_task *t)
{
	if (t->list == NULL)
		enter(&l->again, t);
}

void loop_defer(struct loop *l, struct loop_task *t)
{
	loop_cancel(t);
	enter(&l->dead, t);
}

void loop_fast_tick_on(struct loop *l, struct loop_task *t)
{
	static const struct timeval tick = { .tv_usec = FAST_TICK };

	if (t->list != NULL)
		return;
	if (l->fast_ticks == NULL) {
		l->fast_ticked_at = time_now();
		event_add(l->timer, &tick);
	}
	enter(&l->fast_ticks, t);
}

void loop_cancel(struct loop_task *t)
{
	if (t->list != NULL)
		leave(t);
}

static struct source *add_source(struct loop *l, void *arg)
{
	struct source *s = mem_zalloc(sizeof *s);

	if (s == NULL)
		return NULL;
	s->loop = l;
	s->arg = arg;
	LL_PREPEND(l->sources, s);
	return s;
}

static void drop_source(struct loop *l, struct source *s)
{
	LL_DELETE(l->sources, s);
	if (s->ev != NULL)
		event_free(s->ev);
	mem_free(s);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct source *s = arg;

	(void)fd;
	(void)what;
	loop_woke(s->loop);
	s->loop->now.at = NULL;
	s->tick(s->arg);
	look_long(s->loop);
}

int loop_every(struct loop *l, usec_t interval, void (*fn)(void *), void *arg)
{
	const struct timeval tv = { .tv_sec = interval / USEC,
	    .tv_usec = interval % USEC };
	struct source *s = add_source(l, arg);

	if (s == NULL)
		return -1;
	s->tick = fn;
	s->ev = event_new(l->base, -1, EV_PERSIST, on_tick, s);
	if (s->ev != NULL && event_add(s->ev, &tv) == 0)
		return 0;
	drop_source(l, s);
	return -1;
}

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
	struct source *s = arg;

	(void)what;
	loop_woke(s->loop);
	s->on_signal((int)signo, s->arg);
}

int loop_on_signal(struct loop *l, int signo, void (*fn)(int, void *),
    void *arg)
{
	struct source *s = add_source(l, arg);

	if (s == NULL)
		return -1;
	s->on_signal = fn;
	s->ev = evsignal_new(l->base, signo, on_signal, s);
	if (s->ev != NULL && event_add(s->ev, NULL) == 0)
		return 0;
	drop_source(l, s);
	return -1;
}

void loop_set_offload(struct loop *l, struct offload *o)
{
	l->offload = o;
}

struct offload *loop_offload(const struct loop *l)
{
	return l->offload;
}

/* --- toil --- */

/*
 * A waiting task asks in each turn, after new tasks, so new tasks stand back as
 * long as a task had to wait in this turn or the last.
 */
bool loop_may_toil(struct loop *l, bool waited)
{
	const bool line = l->turn - l->toil_refused <= 1;

	if (l->toil_turn != l->turn)
		l->toil = 0;
	l->toil_turn = l->turn;
	if (l->toil < LOOP_TOIL && (waited || !line))
		return true;
	l->toil_refused = l->turn;
	return false;
}

void loop_toiled(struct loop *l, usec_t how_long)
{
	l->toil += how_long;
}

/* --- sockets --- */

struct poller *loop_poller(const struct loop *l)
{
	return l->poller;
}

int loop_add(struct loop *l, int fd, uint32_t events, struct loop_socket *s)
{
	return poller_add(l->poller, fd, events, s);
}

void loop_change(struct loop *l, int fd, uint32_t events,
    struct loop_socket *s)
{
	poller_change(l->poller, fd, events, s);
}

void loop_remove(struct loop *l, int fd, const struct loop_socket *s)
{
	if (l->now.at == s)
		l->now.at = NULL;
	poller_remove(l->poller, fd, s);
}

#ifndef POLLER_EPOLL
void loop_await(struct loop *l, int fd)
{
	poller_await(l->poller, fd);
}
#endif

struct loop_watch {
	struct loop_socket socket;
	struct loop *loop;
	int fd;
	void (*fn)(void *);
	void *arg;
};

static void on_readable(struct loop_socket *s, uint32_t events)
{
	struct loop_watch *w = container_of(s, struct loop_watch, socket);

	(void)events;
	w->fn(w->arg);
}

struct loop_watch *loop_watch(struct loop *l, int fd, void (*fn)(void *),
    void *arg)
{
	struct loop_watch *w = mem_zalloc(sizeof *w);

	if (w == NULL)
		return NULL;
	w->socket.on_event = on_readable;
	w->loop = l;
	w->fd = fd;
	w->fn = fn;
	w->arg = arg;
	if (loop_add(l, fd, LOOP_IN, &w->socket) == 0)
		return w;
	mem_free(w);
	return NULL;
}

void loop_watch_pause(struct loop_watch *w)
{
	loop_change(w->loop, w->fd, 0, &w->socket);
}

void loop_watch_resume(struct loop_watch *w)
{
	loop_change(w->loop, w->fd, LOOP_IN, &w->socket);
}

void loop_unwatch(struct loop_watch **wp)
{
	struct loop_watch *w = *wp;

	*wp = NULL;
	if (w == NULL)
		return;
	loop_remove(w->loop, w->fd, &w->socket);
	mem_free(w);
}

void loop_finish(struct loop *l)
{
	run_dead(l);
}

const char *loop_method(const struct loop *l)
{
	return event_base_get_method(l->base);
}
