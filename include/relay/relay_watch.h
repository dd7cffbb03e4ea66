/* relay_watch.h - what passes is watched for what it may leave in the session.
 *
 * In a pool that has a session_state other than forget; see trace.h.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_WATCH_H
#define RELAY_RELAY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/pool.h"
#include "relay/relay_parts.h"

struct prepared;
struct relay_down;
struct relay_up;

static inline bool relay_watches(const struct pool *p)
{
	return p->limits.state != STATE_FORGET;
}

/* A Query or FunctionCall was sent. */
void relay_watch_call(struct relay_up *up);
/* A Parse comes, unnamed or not. */
void relay_watch_parse(struct relay_up *up);
/*
 * relay.text: n bytes come next, or last, of a text of more than SQL_TEXT_MAX bytes.
 * That is not kept until it is whole: its words are noted piece by piece, each ahead
 * of the server's having it.
 */
void relay_watch_long(const struct relay_up *up, const void *bytes, size_t n,
    bool last);
/*
 * trace.waits: is the unnamed statement, after the message at hand, still to be
 * run? A Query drops it.
 */
bool relay_watch_waits(const struct relay_up *up);
/* A Bind of stmt; values: behind both names. */
void relay_watch_bind(const struct relay_up *up, const struct prepared *stmt,
    const uint8_t *values);
/*
 * Is the Bind at hand not whole yet, and one that must be, as parameters of its
 * statement are names?
 */
bool relay_watch_is_cut(const struct relay_up *up, uint32_t bound);
/* trace.binds: a Bind, perhaps of the unnamed statement. RELAY_SHORT: it is cut. */
enum relay_step relay_watch_unnamed_bind(const struct relay_up *up);
/* PortalSuspended, or an error: what runs may have drawn, and has no tag. */
void relay_watch_untold(const struct relay_down *d);
/* A whole CommandComplete. */
void relay_watch_tag(const struct relay_down *d);

#endif
