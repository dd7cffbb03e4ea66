/* history.h - the last ten minutes in samples, for charts, and the end of the
 * log.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_HISTORY_H
#define HTTP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct admin;
struct history;
struct log_line;
struct log_ring;
struct writer;

#define HISTORY_INTERVAL (2 * USEC)
#define HISTORY_SAMPLES 300

struct history_sample {
	uint64_t number;		/* of the first: 1 */
	usec_t at;			/* by the wall clock */
	usec_t length;			/* of the time that is counted */
	uint64_t transactions, queries, waits;
	uint64_t query_p50, query_p95, query_p99;
	uint64_t wait_p50, wait_p95, wait_p99;
	uint64_t longest_wait;		/* of clients that wait now */
	uint64_t clients_active, clients_waiting;
	uint64_t servers_active, servers_idle;
	uint64_t logins, failed_logins;	/* of clients */
	uint64_t errors;		/* sent to clients */
};

/* Empty; what happens from now on counts. NULL: no memory. */
struct history *history_new(const struct admin *a, usec_t now);
void history_free(struct history **h);

/* Is there something to do for a sample? */
bool history_is_due(const struct history *h, usec_t now);
/*
 * Then: takes one, bit by bit, of a, who is the first, and of the workers behind
 * it, in a hold. Returns whether there is more to do for it.
 */
bool history_tick(struct history *h, const struct admin *a, usec_t now);
/* The catalogs go, or are not looked at any more; in a hold, too. */
void history_stop(struct history *h);

/* Put s in, with a number of its own; the oldest sample goes. */
void history_add(struct history *h, const struct history_sample *s);
/* The number of samples; and each, the oldest first. */
size_t history_count(const struct history *h);
const struct history_sample *history_at(const struct history *h, size_t i);

/* Samples with a higher number than since, as JSON. */
void history_write(const struct history *h, uint64_t since, struct writer *w);

/* The end of the log, kept to be read by HTTP. */

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
