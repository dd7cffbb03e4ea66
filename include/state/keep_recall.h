/* keep_recall.h - a SET whose effect is known from an earlier one needs no
 * probe.
 * SPDX-License-Identifier: ISC */
#ifndef STATE_KEEP_RECALL_H
#define STATE_KEEP_RECALL_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/recall.h"

struct baggage;
struct client;
struct server;

/* The text of a request that may be the only change of a session. */
struct keep_text {
	struct recall_key key;
	unsigned tags;		/* the number of tags SET and RESET that it
				 * causes */
	bool learns;		/* the probe will tell its effect */
};

/*
 * c sends this text, n bytes with its NUL. Is it the first request in s,
 * outside a transaction block, and of a kind whose effect can be remembered?
 * Then it is noted, and nothing else must be noted for it.
 */
bool keep_note_text(const struct client *c, struct server *s,
    const char *sql, size_t n);
/*
 * Another request may change settings, so the effect of the noted text alone
 * cannot be told.
 */
void keep_note_other(struct server *s);

/* s has these settings, and so has c. False: no memory. */
bool keep_takes(struct client *c, struct server *s, struct baggage *has);
/*
 * Is the effect of the request known? Then s and c have the new settings, and
 * no probe is needed.
 */
bool keep_recalls(struct client *c, struct server *s);
/*
 * A probe has found `set`: remembers it for the text, if that was the only
 * change.
 */
void keep_learns(const struct client *c, struct server *s,
    struct baggage *set);

#endif
