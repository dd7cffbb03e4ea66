/* relay_state.h - what the relay knows of a client from burst to burst.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_STATE_H
#define SESSION_RELAY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/own.h"

struct err;
struct relay_watch_long;
struct params;
struct params_table;
struct writer;

/* A RESET, from its query to the end of what it takes; see relay_reset.h. */
enum resetting {
	RESET_NONE,
	RESET_ASKED,	/* its query is on the way */
	RESET_DONE,	/* it has succeeded, unless its query fails */
	RESET_DUE,	/* the client was told; its server is to be */
	RESET_GUESSED,	/* as DONE; of what is told by what has changed */
	RESET_READ,	/* its text is known, and is about other parameters: there
			 * is nothing to guess */
};

/* A statement that the server knows by the client's name: it may reset. */
struct relay_reset_text {
	struct relay_reset_text *next;
	size_t name;		/* bytes of it, NUL included */
	char text[];		/* the name, and the text */
};

/* The end of a transaction, once it is there. */
enum withheld {
	WITHHELD_NOT,
	WITHHELD,		/* ... until it is known what it has changed */
	WITHHELD_TO_SETTLE,	/* ... and in force */
};

/* What the batch at hand has run so far, and runs next; see relay_unnamed.h. */
enum relay_batch {
	BATCH_UNSURE,
	BATCH_PARSED,	/* nothing that a Parse might see, nor is its text */
	BATCH_BOUND,	/* ... and a portal of that is there */
};

/* Embedded in client; all zero at first. */
struct relay_state {
	bool hold;		/* what follows waits for the replies */
	bool execute_holds;	/* the next Execute may be of a DISCARD ALL
				 * or so: what follows waits for its reply */
	bool discards;		/* a batch was given up: see relay_discard() */
	bool repeats;		/* the batch is asked once more: see
				 * relay_repeat() */
	uint8_t withheld;	/* enum withheld: a ReadyForQuery I */
	uint8_t resetting;	/* enum resetting */
	bool stands;		/* the name "" may stand for a statement */
	uint8_t batch;		/* enum relay_batch */
	struct own own;		/* the unnamed statement; see relay_own.h */
	struct {		/* what the unnamed statement deallocates: */
		char *name;	/* owned; the client's, or NULL */
		char *portal;	/* owned; of that statement, or NULL */
		bool early;	/* the name was not there yet: the server has
				 * the text as it is */
	} dealloc;
	struct params *start;	/* counted: what the client has brought along;
				 * NULL: nothing but what is the pool's */
	uint64_t resets;	/* a bit for each of these to be given back; RESET_DUE:
				 * for those that the server does not report */
	struct relay_reset_text *texts;	/* owned; the newest one first */
	struct relay_watch_long *text;	/* owned; a part of it is still to come;
				 * or NULL: see relay_watch.h */
	uint32_t learns;	/* number of the statement that was bound last; a
				 * Describe of the portal may tell what it has;
				 * or 0 */
};

/* Does what comes behind the next Execute depend on its success? */
static inline bool relay_execute_holds(const struct relay_state *r)
{
	return r->execute_holds || r->dealloc.name != NULL;
}

void relay_state_fini(struct relay_state *r);
/* A text for relay.texts; -1: no memory. Nothing is done for what is too much. */
int relay_state_add_text(struct relay_state *r, const char *name,
    const char *sql, size_t n);
/* Of a statement that there is no more. */
void relay_state_drop_text(struct relay_state *r, const char *name);
/* The unnamed statement is another one, or no more. */
void relay_dealloc_clear(struct relay_state *r);

/* As bytes, for another process; parameters of t. */
void relay_state_save(const struct relay_state *r,
    const struct params_table *t, struct writer *w);
struct relay_bytes {
	const void *at;
	size_t len;
};
/* And back, where t may have others. 0, or -1 with e. */
int relay_state_load(struct relay_state *r, struct params_table *t,
    struct relay_bytes bytes, struct err *e);

#endif
