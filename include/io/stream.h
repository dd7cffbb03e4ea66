/* stream.h - a duplex fd with back-pressure, registered once, edge-triggered.
 * SPDX-License-Identifier: ISC */
#ifndef IO_STREAM_H
#define IO_STREAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "io/flow.h"
#include "io/loop.h"

struct gssenc;
struct hold;
struct overflow;
struct stream;
struct text;
struct tls;
struct transport;

struct stream_ops {
	/* Bytes, end of file or an error wait to be read. May close s. */
	void (*readable)(struct stream *s);
	/* The bytes that stream_write() had queued are gone. May close s. */
	void (*drained)(struct stream *s);
	/* The peer hung up while s was paused. May close s. */
	void (*hangup)(struct stream *s);
	/* Say whose connection s is, and what it is at. */
	void (*describe)(const struct stream *s, struct text *t);
};

/* Embedded in client and server; private to stream.c but for what is said. */
struct stream {
	struct loop_socket socket;
	struct loop *loop;		/* borrowed */
	const struct stream_ops *ops;	/* the owner may change it */
	const struct transport *transport;
	struct tls *tls;		/* owned by the transport; NULL = plain */
	struct gssenc *gssenc;		/* the same, of GSSAPI encryption */
	struct overflow *over;		/* owned; NULL: nothing waits */
	struct hold *hold;		/* owned; NULL: each burst is told of */
	struct flow flow;		/* of what was read */
	struct loop_task task;		/* next reading, or the owner's free */
	int fd;				/* -1 once closed */
	bool ready;	/* an edge was seen and not read away yet */
	bool hup;	/* the peer closed: read on until the end */
	uint8_t paused;	/* STREAM_PAUSED and others; 0 = is read */
	bool broken;	/* a write failed */
	bool given;	/* broken for the time being: see stream_give() */
	bool long_reads;	/* the last one was, for the owner to know */
	bool in_line;	/* urgent bytes are like others; for splice.c */
};

/* Results of stream_read() other than a number of bytes. */
#define STREAM_NONE 0		/* nothing to read now */
#define STREAM_EOF (-1)
#define STREAM_ERROR (-2)	/* errno tells */

enum stream_write { STREAM_SENT, STREAM_QUEUED, STREAM_BROKEN };

/*
 * Take over fd (non-blocking) and register it. Returns 0, or -1 (no memory,
 * no room in the poller): fd is then closed.
 */
int stream_open(struct stream *s, struct loop *l, int fd,
    const struct stream_ops *ops);
/*
 * A stream without a socket: what is written to it is lost, and nothing is ever
 * read. It is paused.
 */
void stream_open_none(struct stream *s, struct loop *l,
    const struct stream_ops *ops);
#define STREAM_NO_SOCKET INT_MAX	/* its fd */
void stream_leave(struct stream *s);	/* its loop, with what is queued */
int stream_join(struct stream *s, struct loop *l);	/* another one: 0 or -1 */
/* Close now; what is queued is tried once more. Safe to call twice. */
void stream_close(struct stream *s);
/* The same, where the peer shall hear our last words; see socket_drain(). */
void stream_close_told(struct stream *s);

/*
 * One recv. A short read means that nothing is left, so the next recv waits
 * for the next edge; call stream_reread() where that must not be trusted.
 */
ssize_t stream_read(struct stream *s, void *buf, size_t size);
void stream_reread(struct stream *s);

/* For transports: all bytes are read, so the next ones are to be told. */
static inline void stream_await(struct stream *s)
{
	s->ready = false;
	loop_await(s->loop, s->fd);
}

/* Is there (perhaps) more to read, now? */
static inline bool stream_is_ready(const struct stream *s)
{
	return s->ready;
}

/*
 * One sendmsg; what the socket does not take is copied to the overflow queue,
 * and ops->drained follows. The caller stops reading the source meanwhile.
 */
enum stream_write stream_write(struct stream *s, struct iovec *iov, int count);
enum stream_write stream_write_bytes(struct stream *s, const void *p,
    size_t n);

/* Say whose at is, as ops has it. False: it is no stream's. */
bool stream_describe(const struct loop_socket *at, struct text *t);

/* Queue bytes without trying to send them: the socket is known to be full. */
enum stream_write stream_queue(struct stream *s, const void *p, size_t n);

static inline bool stream_is_blocked(const struct stream *s)
{
	return s->over != 0;
}

/* Bytes queued; and they themselves, to a place that has room for them. */
size_t stream_queued(const struct stream *s);
void stream_copy_queued(const struct stream *s, void *to);

/* Stop calling readable; on resume it is called once if an edge was seen. */
void stream_pause(struct stream *s);
void stream_resume(struct stream *s);

/*
 * The same for another reason (SUSPEND): s is read when neither holds. A test
 * of stream.paused tests both. Queued bytes are not sent meanwhile, either, not
 * even when s is closed: the socket may be another process's by then.
 */
#define STREAM_PAUSED 1
#define STREAM_SUSPENDED 2
#define STREAM_HELD 4		/* memory is short; queued bytes go on */
void stream_hold(struct stream *s);
void stream_unhold(struct stream *s);
void stream_suspend(struct stream *s);
void stream_unsuspend(struct stream *s);
/* Another process has its socket, too: nothing is sent or read till the next. */
void stream_give(struct stream *s);
void stream_take_back(struct stream *s);
static inline bool stream_is_suspended(const struct stream *s)
{
	return (s->paused & STREAM_SUSPENDED) != 0;
}

/*
 * n bytes of s were read. In full flow, a plain TCP socket is read once in a
 * millisecond, or when RCVLOWAT bytes wait, as a network card moderates its
 * interrupts: a burst, which is 8 kB with PostgreSQL, would cost a turn each.
 * The end of the stream and errors are told at once all the same. Full flow is
 * over when less comes, and when s is paused.
 */
void stream_flow_note(struct stream *s, size_t n);
/* The peer may wait for us before it sends more: what comes is told at once. */
void stream_flow_stop(struct stream *s);
static inline void stream_flow_over(struct stream *s)
{
	if (s->flow.runs)
		stream_flow_stop(s);
}

/*
 * Call readable now: the first bytes of a new connection are here by all
 * probability, and need no turn of the loop to be found. May close s.
 */
void stream_begin(struct stream *s);

/* Call readable next turn: the owner has had its share of this one. */
void stream_yield(struct stream *s);
/* The same, whether or not the socket has more: the owner has. */
static inline void stream_put_off(struct stream *s)
{
	stream_reread(s);
	stream_yield(s);
}

#endif
