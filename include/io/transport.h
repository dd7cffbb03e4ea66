/* transport.h - how a stream's bytes get to the socket: plain today, or TLS.
 * SPDX-License-Identifier: ISC */
#ifndef IO_TRANSPORT_H
#define IO_TRANSPORT_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct stream;

/* Both return as recv(2) and sendmsg(2) do: -1 and errno, EAGAIN included. */
struct transport {
	ssize_t (*recv)(struct stream *s, void *buf, size_t size);
	ssize_t (*send)(struct stream *s, const struct iovec *iov, int count);
	void (*close)(struct stream *s);	/* before the fd is closed; or NULL */
};

const struct transport *transport_plain(void);

#endif
