/* loop.h - the event loop: turns, sockets, tasks, fast_ticks, ticks and
 * signals.
 *
 * A poller (poller.h) has the sockets of sessions. libevent has what comes rarely:
 * timers, signals, the resolver. All waiting is done in libevent.
 * SPDX-License-Identifier: ISC */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct event_base;
struct loop;

/* The shared read buffer: nothing in it outlives the callback that filled it. */
#define LOOP_BUFFER 131072

/*
 * A call to be made later, embedded in its object. The task is either scheduled
 * for the next turn (loop_again), or for the end of this turn (loop_defer), or
 * for each fast_tick (loop_fast_tick_on), or idle.
 */
struct loop_task {
	struct loop_task *prev, *next;
	struct loop_task **list;	/* the task's list; NULL: none */
	void (*run)(struct loop_task *t);
};

/* One per process; NULL when libevent can't start. */
struct loop *loop_new(void);
void loop_free(struct loop **l);

/* Run turns until loop_stop(). after_turn (may be NULL) is called in each. */
void loop_run(struct loop *l, void (*after_turn)(void *arg), void *arg);
void loop_stop(struct loop *l);

/*
 * How busy a loop is, where that is measured: it takes a look at the clock at the
 * end of each turn. Work is CPU time, because a thread that others have kept from
 * running did none. A turn is as long as others had to wait for its end.
 */
struct loop_load {
	usec_t busy;		/* CPU time of the thread that runs it */
	usec_t longest;		/* turn, by the clock */
};
void loop_measure(struct loop *l);
/*
 * Since it was asked last, or since it began to run. On the thread that runs it.
 * False: it is not measured.
 */
bool loop_take_load(struct loop *l, struct loop_load *load);

struct event_base *loop_base(struct loop *l);
uint8_t *loop_buffer(struct loop *l);
/* Number of this turn; wraps. */
unsigned loop_turn(const struct loop *l);
/* A pipe for splice.c, empty between its calls; NULL: there is none. */
const int *loop_pipe(const struct loop *l);
void loop_drop_pipe(struct loop *l);

/* Run t once in the next turn, which then does not sleep. Again: no effect. */
void loop_again(struct loop *l, struct loop_task *t);
/* Run t when all events of this turn are handled; nothing else, from now on. */
void loop_defer(struct loop *l, struct loop_task *t);
/* Not at all: whatever t was scheduled for. */
void loop_cancel(struct loop_task *t);

/*
 * Run t again and again until loop_cancel(), every one to two milliseconds: for
 * what is wanted now and then, so that nothing wakes up for it meanwhile. Asked
 * for twice: no effect.
 */
void loop_fast_tick_on(struct loop *l, struct loop_task *t);

/* Call fn(arg) every interval. Returns 0 or -1. Lives as long as the loop. */
int loop_every(struct loop *l, usec_t interval, void (*fn)(void *), void *arg);
/* Call fn(signo, arg), from the loop, when the signal comes. 0 or -1. */
int loop_on_signal(struct loop *l, int signo, void (*fn)(int, void *),
    void *arg);

/*
 * A socket of the poller, embedded in its object. on_event gets the events that it
 * has, and may do anything to any socket.
 */
struct loop_socket {
	void (*on_event)(struct loop_socket *s, uint32_t events);
};

/* Events of a socket. They are numbered as epoll(7) does. */
#define LOOP_IN 0x1u	/* bytes or the end can be read */
#define LOOP_OUT 0x4u	/* there is room */
#define LOOP_ERROR 0x8u	/* may be told unasked; else an error is told as LOOP_IN */
#define LOOP_GONE 0x10u	/* both sides have ended; the same */
#define LOOP_END 0x2000u	/* the peer sends no more */
/*
 * What holds is told once, and again when there is more. The owner reads until
 * nothing is left, and calls loop_await() then; or leaves the rest for later.
 */
#define LOOP_EDGE 0x80000000u

/* Wait for events of fd. Returns 0 or -1. */
int loop_add(struct loop *l, int fd, uint32_t events, struct loop_socket *s);
/* From now on for these events: each that holds is told again, edge or not. */
void loop_change(struct loop *l, int fd, uint32_t events,
    struct loop_socket *s);
/* Of a socket with LOOP_EDGE: tell of its next bytes, because these are read. */
#ifdef POLLER_EPOLL
static inline void loop_await(struct loop *l, int fd)
{
	(void)l;
	(void)fd;
}
#else
void loop_await(struct loop *l, int fd);
#endif
/*
 * Before fd is closed or s is freed. What was told of it in this turn and did
 * not reach it never will.
 */
void loop_remove(struct loop *l, int fd, const struct loop_socket *s);

/*
 * How long a turn may get before whoever reads leaves the rest to the next one,
 * as others wait. Work is done in pieces of LOOP_PIECE bytes, of which a message
 * counts LOOP_MESSAGE more than it has; the clock is read behind each piece.
 */
#define LOOP_SHARE (3 * USEC / 1000)
#define LOOP_PIECE 16384
#define LOOP_MESSAGE 256
bool loop_is_long(const struct loop *l);
/* Hot: a message of so many bytes was done; was it the last of its piece? */
static inline bool loop_ends_piece(size_t *work, size_t bytes)
{
	*work += bytes + LOOP_MESSAGE;
	if (*work < LOOP_PIECE)
		return false;
	*work = 0;
	return true;
}

/*
 * Another thread (watchdog.h) may notice that a turn takes long. Then the loop calls
 * fn as soon as the function of that socket has returned.
 */
struct loop_long {
	const struct loop_socket *at;	/* NULL: none, or it is closed now */
	usec_t took;			/* the turn, so far */
};
void loop_on_long(struct loop *l,
    void (*fn)(void *arg, const struct loop_long *turn), void *arg);
/* From another thread: the number of a turn that is at work; 0: l waits. */
unsigned loop_mark(const struct loop *l);
void loop_note_long(struct loop *l, unsigned mark);
/* A task begins what belongs to s. */
void loop_at(struct loop *l, const struct loop_socket *s);

/*
 * Long work, as a handshake of TLS with a server, must not keep waiting a
 * client that only wants a query passed on: so much of the work is done in a
 * turn, and the rest in the next turns, first come, first served. Ask before
 * each piece, and say then how long the piece took. false: come again next
 * turn, with waited set.
 */
#define LOOP_TOIL (2 * USEC / 1000)
bool loop_may_toil(struct loop *l, bool waited);
void loop_toiled(struct loop *l, usec_t how_long);

/* The threads that work for it, see offload.h; NULL: it has none. */
struct offload;
void loop_set_offload(struct loop *l, struct offload *o);
struct offload *loop_offload(const struct loop *l);

/*
 * Call fn(arg) while fd can be read, level-triggered: for listening sockets.
 * NULL: no memory. loop_unwatch() does not close fd.
 */
struct loop_watch;
struct loop_watch *loop_watch(struct loop *l, int fd, void (*fn)(void *),
    void *arg);
void loop_watch_pause(struct loop_watch *w);
void loop_watch_resume(struct loop_watch *w);
void loop_unwatch(struct loop_watch **w);

/* After loop_run(): what was deferred since its last turn is run. */
void loop_finish(struct loop *l);

/* The method that libevent waits with: "epoll". */
const char *loop_method(const struct loop *l);

/*
 * Every callback from libevent starts with this: one clock read a turn.
 * Callbacks of sockets need not.
 */
void loop_woke(struct loop *l);
/* The clock moves on amid a turn of the loop, as this thread has waited for others. */
void loop_forward(struct loop *l);

#endif
