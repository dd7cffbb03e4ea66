/* splice.h - bytes from socket to socket that nobody needs to look at.
 * SPDX-License-Identifier: ISC */
#ifndef IO_SPLICE_H
#define IO_SPLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stream;

/*
 * Worth it from here on: below, two system calls and the hand-over of pages
 * cost more than a copy does.
 */
#define SPLICE_MIN 65536

/* Can bytes go from one to the other, now, unseen? */
bool splice_can(const struct stream *from, const struct stream *to);

/*
 * Move up to n bytes, by reference to the kernel's pages. What to's socket
 * does not take is copied to its overflow queue.
 * Returns: the bytes that left from; STREAM_NONE, STREAM_EOF or STREAM_ERROR
 *          as stream_read() does. NONE too when the system won't do it: then
 *          splice_can() is false from now on, and from is still ready.
 * Errors:  a failure of to shows in to->broken.
 */
ssize_t splice_move(struct stream *from, struct stream *to, size_t n);

/*
 * As stream_read(), where splice_can(): but the bytes are still in the socket.
 * Then all of them are taken out, or some are passed on; nothing may come
 * between.
 */
ssize_t splice_peek(struct stream *from, void *buf, size_t size);
/* The n bytes in buf were all that was peeked at. 0 or -1: from has failed. */
int splice_take(struct stream *from, void *buf, size_t n);
/* Exactly n of them go to to. 0 or -1: from has failed. */
int splice_pass(struct stream *from, struct stream *to, size_t n);

#endif
