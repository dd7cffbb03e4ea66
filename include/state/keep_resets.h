/* keep_resets.h - which of a client's defaults a statement may have reset.
 *
 * A server that was SET to a default of its client knows another one: by RESET a
 * custom parameter is empty there, and the role none. That looks the same as if
 * its client had set it so; only what it has asked for tells.
 * (session_state = keep; spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#ifndef STATE_KEEP_RESETS_H
#define STATE_KEEP_RESETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct server;

struct keep_resets_text {
	const char *sql;
	size_t n;
	uint32_t effects;	/* of effects.h */
	const uint8_t *values;	/* of its Bind, from the format codes on, or NULL */
	size_t values_len;
};
/* Does a text reset some? */
bool keep_resets_some(const struct client *c, const struct server *s,
    const struct keep_resets_text *t);
/* c sends s a text. */
void keep_resets_note(const struct client *c, struct server *s,
    const struct keep_resets_text *t);
/* It was rolled back, or some of it was refused. */
void keep_resets_undo(struct server *s);
/*
 * In session mode: s, which c keeps, has no more what c has reset; c wants it
 * still. 0, or -1: no memory.
 */
int keep_resets_bring(const struct client *c, struct server *s);
/* May name, of what c has come with, have been reset since it was lent s? */
bool keep_resets_had(const struct client *c, const struct server *s,
    const char *name);

#endif
