/* snapshot_load_parts.h - how clients and servers are made again.
 * SPDX-License-Identifier: ISC */
#ifndef TRANSFER_SNAPSHOT_LOAD_PARTS_H
#define TRANSFER_SNAPSHOT_LOAD_PARTS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct pool;
struct prepared;
struct baggage;
struct sessions;
struct snapshot;
struct snapshot_baggage;
struct snapshot_statement;
struct stream;

/* The pool that serves user in database; NULL: e says why, or "". */
struct pool *snapshot_find_pool(struct sessions *ss,
    const struct snapshot *h, struct err *e);
/* Counted for the caller; NULL with e. */
struct prepared *snapshot_read_statement(struct sessions *ss,
    const struct snapshot_statement *in, struct err *e);
/* Bytes that the socket had not taken are sent when all sessions go on. */
int snapshot_read_queued(struct stream *s, const uint8_t *p, size_t n);

/* A set as it was; its names of custom parameters are known here, too. */
int snapshot_read_baggage(struct sessions *ss,
    const struct snapshot_baggage *in, struct baggage **out, struct err *e);

#endif
