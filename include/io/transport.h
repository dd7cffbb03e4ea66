/* transport.h - how a stream's bytes get to the socket: as they are, or TLS.
 * SPDX-License-Identifier: ISC */
#ifndef IO_TRANSPORT_H
#define IO_TRANSPORT_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "io/stream.h"

struct transport {
	/*
	 * As recv(2) does: -1 and errno, EAGAIN included. Clears s->ready when
	 * it is sure that the next bytes will come with an edge of their own.
	 */
	ssize_t (*read)(struct stream *s, void *buf, size_t size);
	/* As stream_write() does; what goes out leaves by stream_push(). */
	enum stream_write (*write)(struct stream *s, struct iovec *iov,
	    int count);
	/* Before the fd is closed: say goodbye, free s->tls. Or NULL. */
	void (*close)(struct stream *s);
};

/* The socket itself. */
const struct transport *transport_plain(void);

/* Send bytes of the wire, queue what the socket does not take. */
enum stream_write stream_push(struct stream *s, struct iovec *iov, int count);

#endif
