/* keep_resets.h - which values of the start-up packet a statement may have
 * reset.
 *
 * RESET gives a custom parameter an empty value, and sets the role to none,
 * because the server does not know the value that the client brought. The probe
 * cannot tell this from a SET to the same value, so the texts must tell it.
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
	uint32_t effects;	/* see effects.h */
	const uint8_t *values;	/* the values of its Bind, from the format codes
				 * on, or NULL */
	size_t values_len;
};
/* Does the text reset any value that the client brought? */
bool keep_resets_some(const struct client *c, const struct server *s,
    const struct keep_resets_text *t);
/* c sends this text to s. */
void keep_resets_note(const struct client *c, struct server *s,
    const struct keep_resets_text *t);
/* The transaction was rolled back, or a statement failed. */
void keep_resets_undo(struct server *s);
/*
 * Session mode: gives s the values again that c brought and has reset. Returns
 * 0, or -1: no memory.
 */
int keep_resets_bring(const struct client *c, struct server *s);
/* May c have reset this value since it was lent s? */
bool keep_resets_had(const struct client *c, const struct server *s,
    const char *name);

#endif
