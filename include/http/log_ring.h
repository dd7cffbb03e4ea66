/* log_ring.h - the end of the log, kept to be read by HTTP.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_LOG_RING_H
#define HTTP_LOG_RING_H

#include <stddef.h>
#include <stdint.h>

struct log_line;
struct log_ring;
struct writer;

#define LOG_RING_LINES_MAX 10000
#define LOG_RING_TEXT 512	/* of a line; a longer one is cut */

/* So many lines. NULL: no memory. */
struct log_ring *log_ring_new(size_t lines);
void log_ring_free(struct log_ring **r);
size_t log_ring_size(const struct log_ring *r);

/* arg is the ring; lines of DEBUG and NOISE are not kept. */
void log_ring_put(void *arg, const struct log_line *l);

/* Lines with a higher number than since, the oldest first, as JSON. */
void log_ring_write(const struct log_ring *r, uint64_t since,
    struct writer *w);

#endif
