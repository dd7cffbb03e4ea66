/* relay_prepared.h - named statements under names that servers share.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_PREPARED_H
#define RELAY_RELAY_PREPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "relay/relay_parts.h"

struct prepared_op;

/* Parse, Bind, Describe, Close of a client whose names are translated. */
enum relay_step relay_parse(struct relay_up *up);
enum relay_step relay_bind(struct relay_up *up);
enum relay_step relay_describe(struct relay_up *up);
enum relay_step relay_close(struct relay_up *up);

/* --- relay_parse.c --- */

/* Send a message of ours about stmt: type, what stands before the name. */
void relay_send_named(struct relay_up *up, char type, const char *kind,
    const struct prepared *stmt);
/* Send Close of stmt, which s has. 0, or -1: no memory. */
int relay_send_close(struct relay_up *up, struct prepared *stmt);
/*
 * Send Parse of stmt; op, which is taken, and how say whose request that is.
 * 0, or -1: no memory, op might be NULL for that.
 */
int relay_send_parse(struct relay_up *up, struct prepared *stmt,
    enum track_how how, struct prepared_op *op);

/* Notes what an unnamed Parse, which is at hand, may set or leave. */
void relay_note_unnamed(struct relay_up *up);

/* A query and its parameter types, to the byte? */
bool relay_is_parse_body(const uint8_t *p, size_t n);

/* The string at p, at most n bytes; NULL: no NUL among them. */
static inline const char *relay_string_at(const uint8_t *p, size_t n)
{
	return n > 0 && memchr(p, 0, n) != NULL ? (const char *)p : NULL;
}

/*
 * Would the handler of the message ask for more of it before it does anything?
 * A client that gets a server for that only gives it back.
 */
bool relay_half_waits(const struct relay_up *up);	/* of one that is cut */
static inline bool relay_is_half(const struct relay_up *up)
{
	return up->have < up->size && relay_half_waits(up);
}
/* Does this message need no server? Close of a tracked statement. */
bool relay_is_local_close(const struct relay_up *up);

#endif
