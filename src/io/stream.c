/* stream.c - a duplex fd with back-pressure, registered once, edge-triggered.
 * SPDX-License-Identifier: ISC */
#include "io/stream.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <limits.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/container.h"
#include "base/mem.h"
#include "io/socket.h"
#include "io/transport.h"

#define READ_EVENTS (LOOP_IN | LOOP_END | LOOP_EDGE)
#define HANG_UP (LOOP_END | LOOP_GONE | LOOP_ERROR)
#define OVERFLOW_RUNS 16	/* pieces of the queue tried in one send */
#define RCVLOWAT (1 << 18)		/* bytes that a held stream is read for */

/* Bytes that the socket did not take; exists only while there are any. */
struct overflow {
	struct evbuffer *queue;		/* owned */
	size_t noted;			/* bytes told to mem_note() */
};

/* A stream in full flow, while it is read fast_tick by fast_tick. */
struct hold {
	struct loop_task fast_tick;
	struct stream *stream;
};

/* --- the plain transport: the socket itself --- */

static ssize_t plain_read(struct stream *s, void *buf, size_t size)
{
	const ssize_t n = recv(s->fd, buf, size, 0);

	if (n > 0) {
		if ((size_t)n < size && !s->hup)
			stream_await(s);
	} else if (n < 0 && errno == EAGAIN) {
		stream_await(s);
	}
	return n;
}

static ssize_t plain_send(const struct stream *s, const struct iovec *iov,
    int count)
{
	/* send() is the cheaper call, and one run is the common case */
	if (count == 1)
		return send(s->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL);
	const struct msghdr m = { .msg_iov = (struct iovec *)iov,
	    .msg_iovlen = (size_t)count };

	return sendmsg(s->fd, &m, MSG_NOSIGNAL);
}

static const struct transport plain = {
	.read = plain_read,
	.write = stream_push,
};

const struct transport *transport_plain(void)
{
	return &plain;
}

/* --- */

static void run_task(struct loop_task *t)
{
	struct stream *s = container_of(t, struct stream, task);

	if (s->fd < 0)
		return;
	loop_at(s->loop, &s->socket);
	if (s->paused && s->hup)
		s->ops->hangup(s);
	else if (!s->paused && s->ready)
		s->ops->readable(s);
}

static uint32_t events_of(const struct stream *s)
{
	return s->over == NULL || stream_is_suspended(s) ? READ_EVENTS :
	    READ_EVENTS | LOOP_OUT;
}

/* What holds is told again, even if its edge has passed. */
static void ask(struct stream *s)
{
	loop_change(s->loop, s->fd, events_of(s), &s->socket);
}

static void overflow_free(struct stream *s)
{
	struct overflow *o = s->over;

	if (o == NULL)
		return;
	mem_note(MEM_OVERFLOW, -1, -(long)o->noted);
	evbuffer_free(o->queue);
	mem_free(o);
	s->over = NULL;
}

/*
 * Send what is queued. Returns 0, or -1 when the socket takes no more: errno
 * tells whether for now (EAGAIN) or for ever.
 */
static int overflow_flush(struct stream *s)
{
	struct overflow *o = s->over;

	while (evbuffer_get_length(o->queue) > 0) {
		struct evbuffer_iovec v[OVERFLOW_RUNS];
		int n = evbuffer_peek(o->queue, -1, NULL, v, OVERFLOW_RUNS);

		if (n > OVERFLOW_RUNS)
			n = OVERFLOW_RUNS;
		const ssize_t sent = plain_send(s,
		    (const struct iovec *)v, n);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -1;
		evbuffer_drain(o->queue, (size_t)sent);
	}
	return 0;
}

/* The socket takes bytes again, or never will. */
static void on_writable(struct stream *s)
{
	if (overflow_flush(s) < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return;
		s->broken = true;
	}
	overflow_free(s);
	ask(s);
	s->ops->drained(s);
}

static void on_event(struct loop_socket *socket, uint32_t events)
{
	struct stream *s = container_of(socket, struct stream, socket);

	if (s->over != NULL && !stream_is_suspended(s) &&
	    (events & (LOOP_OUT | LOOP_GONE | LOOP_ERROR)) != 0) {
		on_writable(s);
		if (s->fd < 0)
			return;
	}
	if (events & HANG_UP)
		s->hup = true;
	if ((events & (LOOP_IN | HANG_UP)) == 0)
		return;
	s->ready = true;
	if (!s->paused)
		s->ops->readable(s);
	else if (s->hup)
		s->ops->hangup(s);
}

bool stream_describe(const struct loop_socket *at, struct text *t)
{
	if (at->on_event != on_event)
		return false;
	const struct stream *const s = container_of(at, const struct stream,
	    socket);

	s->ops->describe(s, t);
	return true;
}

static void init(struct stream *s, struct loop *l, int fd,
    const struct stream_ops *ops)
{
	s->loop = l;
	s->ops = ops;
	s->transport = &plain;
	s->tls = NULL;
	s->gssenc = NULL;
	s->ready = s->hup = s->broken = s->given = false;
	s->long_reads = s->in_line = false;
	s->hold = NULL;
	s->flow = (struct flow){ 0 };
	s->paused = 0;
	s->fd = fd;
	s->task.run = run_task;
	s->socket.on_event = on_event;
}

int stream_open(struct stream *s, struct loop *l, int fd,
    const struct stream_ops *ops)
{
	init(s, l, fd, ops);
	if (loop_add(l, fd, READ_EVENTS, &s->socket) == 0)
		return 0;
	close(fd);
	s->fd = -1;
	return -1;
}

void stream_open_none(struct stream *s, struct loop *l,
    const struct stream_ops *ops)
{
	init(s, l, STREAM_NO_SOCKET, ops);
	s->paused = STREAM_PAUSED;
	s->broken = true;
}

static int overflow_new(struct stream *s)
{
	struct overflow *o = mem_zalloc(sizeof *o);

	if (o == NULL)
		return -1;
	o->queue = evbuffer_new();
	if (o->queue == NULL) {
		mem_free(o);
		return -1;
	}
	mem_note(MEM_OVERFLOW, 1, 0);
	s->over = o;
	ask(s);
	return 0;
}

/* Queue the bytes of iov but for the first skip of them. */
static enum stream_write overflow_add(struct stream *s, const struct iovec *iov,
    int count, size_t skip)
{
	if (s->over == NULL && overflow_new(s) < 0)
		goto broken;
	for (int i = 0; i < count; i++) {
		const size_t n = iov[i].iov_len;

		if (skip >= n) {
			skip -= n;
			continue;
		}
		if (evbuffer_add(s->over->queue,
		    (const char *)iov[i].iov_base + skip, n - skip) < 0)
			goto broken;
		s->over->noted += n - skip;
		mem_note(MEM_OVERFLOW, 0, (long)(n - skip));
		skip = 0;
	}
	return STREAM_QUEUED;
broken:
	s->broken = true;
	return STREAM_BROKEN;
}

/* --- full flow --- */

static void run_fast_tick(struct loop_task *t)
{
	struct stream *const s = ((struct hold *)t)->stream;

	loop_at(s->loop, &s->socket);
	/* a millisecond without a byte may end the full flow */
	stream_flow_note(s, 0);
	s->ready = true;
	s->ops->readable(s);
}

/*
 * From now on the kernel tells of s only when RCVLOWAT bytes are there, and the
 * fast tick reads what is less. TLS, paused and closed streams stay as they are.
 */
static void hold(struct stream *s)
{
	if (s->hold != NULL || s->transport != &plain || s->paused || s->hup ||
	    !socket_is_tcp(s->fd))
		return;
	struct hold *const h = mem_zalloc(sizeof *h);

	if (h == NULL || socket_set_rcvlowat(s->fd, RCVLOWAT) < 0) {
		mem_free(h);
		return;
	}
	h->stream = s;
	h->fast_tick.run = run_fast_tick;
	s->hold = h;
	loop_fast_tick_on(s->loop, &h->fast_tick);
}

static void let_go(struct stream *s)
{
	struct hold *const h = s->hold;

	if (h == NULL)
		return;
	loop_cancel(&h->fast_tick);
	mem_free(h);
	s->hold = NULL;
	(void)socket_set_rcvlowat(s->fd, 1);
	/* input that is there already is not told any more */
	s->ready = true;
	if (!s->paused)
		loop_again(s->loop, &s->task);
}

void stream_flow_note(struct stream *s, size_t n)
{
	switch (flow_note(&s->flow, n, time_now())) {
	case FLOW_OPEN:
		return;
	case FLOW_FULL:
		hold(s);
		return;
	case FLOW_EBB:
		let_go(s);
		return;
	}
}

void stream_flow_stop(struct stream *s)
{
	s->flow.runs = false;
	let_go(s);
}

/* --- */

void stream_close(struct stream *s)
{
	if (s->fd < 0)
		return;
	if (s->transport->close != NULL)
		s->transport->close(s);
	if (s->over != NULL && !s->broken && !stream_is_suspended(s))
		(void)overflow_flush(s);
	overflow_free(s);
	let_go(s);
	loop_cancel(&s->task);
	if (s->fd != STREAM_NO_SOCKET) {
		loop_remove(s->loop, s->fd, &s->socket);
		close(s->fd);
	}
	s->fd = -1;
}

void stream_leave(struct stream *s)
{
	let_go(s);
	loop_remove(s->loop, s->fd, &s->socket);
	loop_cancel(&s->task);
	s->loop = NULL;
}

int stream_join(struct stream *s, struct loop *l)
{
	s->loop = l;
	s->ready = true;
	/* each edge is told anew */
	return loop_add(l, s->fd, events_of(s), &s->socket);
}

void stream_close_told(struct stream *s)
{
	/* one that is told nothing may be another process's by now */
	if (s->fd >= 0 && !s->broken)
		socket_drain(s->fd);
	stream_close(s);
}

ssize_t stream_read(struct stream *s, void *buf, size_t size)
{
	for (;;) {
		const ssize_t n = s->transport->read(s, buf, size);

		if (n > 0)
			return n;
		if (n == 0)
			return STREAM_EOF;
		if (errno == EINTR)
			continue;
		return errno == EAGAIN ? STREAM_NONE : STREAM_ERROR;
	}
}

void stream_reread(struct stream *s)
{
	s->ready = true;
}

/* Out of the hot path: of so many bytes, or with an error, the socket took no more. */
static __attribute__((noinline, cold)) enum stream_write push_rest(
    struct stream *s, struct iovec *iov, int count, ssize_t sent)
{
	if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
		s->broken = true;
		return STREAM_BROKEN;
	}
	return overflow_add(s, iov, count, sent < 0 ? 0 : (size_t)sent);
}

enum stream_write stream_push(struct stream *s, struct iovec *iov, int count)
{
	if (s->broken)
		return STREAM_BROKEN;
	if (s->over != NULL)
		return overflow_add(s, iov, count, 0);
	size_t total = 0;
	for (int i = 0; i < count; i++)
		total += iov[i].iov_len;
	if (total == 0)
		return STREAM_SENT;
	const ssize_t n = plain_send(s, iov, count);

	if (n == (ssize_t)total)
		return STREAM_SENT;
	if (n < 0 && errno == EINTR)
		return stream_push(s, iov, count);
	return push_rest(s, iov, count, n);
}

enum stream_write stream_write(struct stream *s, struct iovec *iov, int count)
{
	return s->transport->write(s, iov, count);
}

enum stream_write stream_write_bytes(struct stream *s, const void *p, size_t n)
{
	struct iovec v = { .iov_base = (void *)p, .iov_len = n };

	return stream_write(s, &v, 1);
}

enum stream_write stream_queue(struct stream *s, const void *p, size_t n)
{
	const struct iovec v = { .iov_base = (void *)p, .iov_len = n };

	return s->broken ? STREAM_BROKEN : overflow_add(s, &v, 1, 0);
}

size_t stream_queued(const struct stream *s)
{
	return s->over == NULL ? 0 : evbuffer_get_length(s->over->queue);
}

void stream_copy_queued(const struct stream *s, void *to)
{
	if (s->over != NULL)
		(void)evbuffer_copyout(s->over->queue, to, stream_queued(s));
}

static void stop(struct stream *s, uint8_t why)
{
	let_go(s);
	if (s->paused == 0 && s->hup)	/* the edge has passed already */
		loop_again(s->loop, &s->task);
	s->paused |= why;
}

static void go_on(struct stream *s, uint8_t why)
{
	if ((s->paused & why) == 0)
		return;
	s->paused &= (uint8_t)~why;
	if (s->paused == 0 && s->ready)
		loop_again(s->loop, &s->task);
}

void stream_pause(struct stream *s)
{
	stop(s, STREAM_PAUSED);
}

void stream_resume(struct stream *s)
{
	go_on(s, STREAM_PAUSED);
}

void stream_hold(struct stream *s)
{
	stop(s, STREAM_HELD);
}

void stream_unhold(struct stream *s)
{
	go_on(s, STREAM_HELD);
}

void stream_suspend(struct stream *s)
{
	const bool was = stream_is_suspended(s);

	stop(s, STREAM_SUSPENDED);
	/* a poller may tell of room again and again */
	if (!was && s->over != NULL)
		ask(s);
}

void stream_give(struct stream *s)
{
	if (stream_is_suspended(s) && !s->broken)
		s->given = s->broken = true;
}

void stream_take_back(struct stream *s)
{
	if (s->given)
		s->given = s->broken = false;
}

void stream_unsuspend(struct stream *s)
{
	const bool was = stream_is_suspended(s);

	go_on(s, STREAM_SUSPENDED);
	if (was && s->over != NULL)
		ask(s);
}

void stream_begin(struct stream *s)
{
	s->ready = true;
	s->ops->readable(s);
}

void stream_yield(struct stream *s)
{
	if (s->fd >= 0)
		loop_again(s->loop, &s->task);
}
