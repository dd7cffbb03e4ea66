/* loop.c - the event loop: turns, tasks, ticks and signals over libevent.
 * SPDX-License-Identifier: ISC */
#include "io/loop.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <unistd.h>
#include <utlist.h>

#include "base/mem.h"

#define PIPE_BYTES (1 << 20)	/* what anybody may ask for */
#define BEAT (USEC / 1000)

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
	struct loop_task *again;	/* DL list: next turn */
	struct loop_task mark;		/* where this turn's part of again ends */
	struct loop_task *dead;		/* DL list: end of this turn */
	struct loop_task *beats;	/* DL list: once each beat */
	struct event *beat;		/* owned; added while beats are asked for */
	struct source *sources;		/* LL list, owned */
	int pipe[2];			/* for splice.c; or -1, -1 */
	bool stop;
	bool woken;	/* the clock was read in this turn */
	unsigned turn;
	uint8_t buffer[LOOP_BUFFER];
};

/* Not to have one only costs time. */
static void open_pipe(int pipe[2])
{
	if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		pipe[0] = pipe[1] = -1;
	else
		(void)fcntl(pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
}

void loop_drop_pipe(struct loop *l)
{
	if (l->pipe[0] < 0)
		return;
	close(l->pipe[0]);
	close(l->pipe[1]);
	l->pipe[0] = l->pipe[1] = -1;
}

static void on_beat(evutil_socket_t fd, short what, void *arg);

struct loop *loop_new(void)
{
	struct loop *l = mem_zalloc(sizeof *l);
	struct event_config *cfg = event_config_new();

	/* one thread: no locks inside libevent */
	if (l != NULL && cfg != NULL &&
	    event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK) == 0)
		l->base = event_base_new_with_config(cfg);
	if (cfg != NULL)
		event_config_free(cfg);
	if (l != NULL)
		open_pipe(l->pipe);
	if (l != NULL && l->base != NULL)
		l->beat = event_new(l->base, -1, EV_PERSIST, on_beat, l);
	if (l != NULL && l->beat == NULL)
		loop_free(&l);
	time_update();
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
	if (l->beat != NULL)
		event_free(l->beat);
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

void loop_woke(struct loop *l)
{
	if (l->woken)
		return;
	l->woken = true;
	time_update();
}

/* Run what is listed now; what the calls add waits for the next turn. */
static void run_again(struct loop *l)
{
	if (l->again == NULL)
		return;
	DL_APPEND(l->again, &l->mark);
	for (;;) {
		struct loop_task *t = l->again;

		loop_cancel(l, t);
		if (t == &l->mark)
			return;
		t->run(t);
	}
}

static void run_dead(struct loop *l)
{
	while (l->dead != NULL) {
		struct loop_task *t = l->dead;

		DL_DELETE(l->dead, t);
		t->prev = t->next = NULL;
		t->run(t);
	}
}

void loop_run(struct loop *l, void (*after_turn)(void *), void *arg)
{
	l->stop = false;
	while (!l->stop) {
		l->woken = false;
		l->turn++;
		event_base_loop(l->base, EVLOOP_ONCE |
		    (l->again != NULL ? EVLOOP_NONBLOCK : 0));
		loop_woke(l);
		run_again(l);
		if (after_turn != NULL)
			after_turn(arg);
		run_dead(l);
	}
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

/*
 * A task is in one of two lists, told apart by nothing but the time: those in
 * dead were moved there by loop_defer() and are never cancelled.
 */
void loop_again(struct loop *l, struct loop_task *t)
{
	if (t->prev != NULL)
		return;
	DL_APPEND(l->again, t);
}

void loop_cancel(struct loop *l, struct loop_task *t)
{
	if (t->prev == NULL)
		return;
	DL_DELETE(l->again, t);
	t->prev = t->next = NULL;
}

void loop_defer(struct loop *l, struct loop_task *t)
{
	loop_cancel(l, t);
	DL_APPEND(l->dead, t);
}

/* Each of them once: those that ask meanwhile wait for the next beat. */
static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;

	(void)fd;
	(void)what;
	loop_woke(l);
	DL_APPEND(l->beats, &l->mark);
	for (;;) {
		struct loop_task *t = l->beats;

		DL_DELETE(l->beats, t);
		if (t == &l->mark)
			break;
		DL_APPEND(l->beats, t);
		t->run(t);
	}
	if (l->beats == NULL)
		event_del(l->beat);
}

void loop_beat_on(struct loop *l, struct loop_task *t)
{
	const struct timeval tv = { .tv_usec = BEAT };

	if (t->prev != NULL)
		return;
	if (l->beats == NULL)
		(void)event_add(l->beat, &tv);
	DL_APPEND(l->beats, t);
}

void loop_beat_off(struct loop *l, struct loop_task *t)
{
	if (t->prev == NULL)
		return;
	DL_DELETE(l->beats, t);
	t->prev = t->next = NULL;
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
	s->tick(s->arg);
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

struct loop_watch {
	struct event *ev;	/* owned */
	struct loop *loop;
	void (*fn)(void *);
	void *arg;
};

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct loop_watch *w = arg;

	(void)fd;
	(void)what;
	loop_woke(w->loop);
	w->fn(w->arg);
}

struct loop_watch *loop_watch(struct loop *l, int fd, void (*fn)(void *),
    void *arg)
{
	struct loop_watch *w = mem_zalloc(sizeof *w);

	if (w == NULL)
		return NULL;
	w->loop = l;
	w->fn = fn;
	w->arg = arg;
	w->ev = event_new(l->base, fd, EV_READ | EV_PERSIST, on_readable, w);
	if (w->ev == NULL || event_add(w->ev, NULL) != 0)
		loop_unwatch(&w);
	return w;
}

void loop_watch_pause(struct loop_watch *w)
{
	event_del(w->ev);
}

void loop_watch_resume(struct loop_watch *w)
{
	event_add(w->ev, NULL);
}

void loop_unwatch(struct loop_watch **wp)
{
	struct loop_watch *w = *wp;

	*wp = NULL;
	if (w == NULL)
		return;
	if (w->ev != NULL)
		event_free(w->ev);
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
