/* keep_recall.h - who SETs what was SET before is not asked what there is.
 * SPDX-License-Identifier: ISC */
#ifndef STATE_KEEP_RECALL_H
#define STATE_KEEP_RECALL_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/recall.h"

struct baggage;
struct client;
struct server;

/* The text of a request that may be all that has set anything in a server. */
struct keep_text {
	struct recall_key key;
	unsigned tags;		/* of SET and RESET that it gives */
	bool learns;		/* the probe under way tells what it left */
};

/*
 * c's request has this text, of n bytes with its NUL. Is it one whose effect
 * may be known, the first one in s, and not in a transaction block? Then that
 * is noted, and the request leaves nothing else.
 */
bool keep_note_text(const struct client *c, struct server *s,
    const char *sql, size_t n);
/* Another request comes that may set something: then nothing is known. */
void keep_note_other(struct server *s);

/* s is known to have this now, and so c has. False: no memory. */
bool keep_takes(struct client *c, struct server *s, struct baggage *has);
/* Is all that was left in s known? Then s and c have it. */
bool keep_recalls(struct client *c, struct server *s);
/* The answer of a probe that was sent as nothing was known, or otherwise. */
void keep_learns(const struct client *c, struct server *s,
    struct baggage *set);

#endif
