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

#endif
