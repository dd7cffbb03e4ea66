/* relay_state.h - what the relay remembers of a client between bursts.
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

/* The steps of a RESET; see relay_reset.h. */
enum resetting {
	RESET_NONE,
	RESET_ASKED,	/* the query is on its way */
	RESET_DONE,	/* it has succeeded, unless its query fails later */
	RESET_DUE,	/* the client was told the values; its server must still
			 * get them */
	RESET_GUESSED,	/* as RESET_DONE, concluded from the reports */
	RESET_READ,	/* its text is known and concerns other parameters */
};

/*
 * A statement that the server knows by the client's name, and that may reset.
 */
struct relay_reset_text {
	struct relay_reset_text *next;
	size_t name;		/* its length with the NUL */
	char text[];		/* the name, then the text */
};

/* Is the end of a transaction withheld from the client? */
enum withheld {
	WITHHELD_NOT,
	WITHHELD,		/* ... until its effects are known */
	WITHHELD_TO_SETTLE,	/* ... until they are in force */
};

/* What the batch has run so far; see relay_unnamed.h. */
enum relay_batch {
	BATCH_UNSURE,
	BATCH_PARSED,	/* nothing that a Parse could see, and not its own
			 * text */
	BATCH_BOUND,	/* ... and the portal of that exists */
};

/* Embedded in client. All zero at first. */
struct relay_state {
	bool hold;		/* later messages wait for the answers */
	bool execute_holds;	/* the next Execute may run a DISCARD ALL or the
				 * like: later messages wait for its answer */
	bool discards;		/* a batch was given up: see relay_discard() */
	bool repeats;		/* a batch is sent again: see relay_repeat() */
	uint8_t withheld;	/* enum withheld, of a ReadyForQuery I */
	uint8_t resetting;	/* enum resetting */
	bool stands;		/* the name "" may stand for a statement */
	uint8_t batch;		/* enum relay_batch */
	struct own own;		/* the unnamed statement; see relay_own.h */
	struct {		/* the statement that the unnamed one
				 * deallocates: */
		char *name;	/* owned: the client's name, or NULL */
		char *portal;	/* owned: the portal of that statement, or
				 * NULL */
		bool early;	/* the name was unknown: the server has the text
				 * unchanged */
	} dealloc;
	struct params *start;	/* counted: the values that the client brought;
				 * NULL: only the pool's */
	uint64_t resets;	/* one bit for each value that must be restored;
				 * with RESET_DUE: only those that the server
				 * does not report */
	struct relay_reset_text *texts;	/* owned; the newest first */
	struct relay_watch_long *text;	/* owned, or NULL: a long text of
					 * which a part is missing; see
					 * relay_watch.h */
	uint32_t learns;	/* serial of the statement that was bound last,
				 * for a Describe of the portal; or 0 */
};

/* Do the messages after the next Execute depend on its success? */
static inline bool relay_execute_holds(const struct relay_state *r)
{
	return r->execute_holds || r->dealloc.name != NULL;
}

void relay_state_fini(struct relay_state *r);
/*
 * Adds a text to relay.texts. Returns -1: no memory. Too long texts are
 * ignored.
 */
int relay_state_add_text(struct relay_state *r, const char *name,
    const char *sql, size_t n);
/* The statement was closed. */
void relay_state_drop_text(struct relay_state *r, const char *name);
/* The unnamed statement was replaced or closed. */
void relay_dealloc_clear(struct relay_state *r);

/*
 * Writes the state as bytes for another process; the parameters are those of t.
 */
void relay_state_save(const struct relay_state *r,
    const struct params_table *t, struct writer *w);
struct relay_bytes {
	const void *at;
	size_t len;
};
/* Reads it, though t may have other parameters. Returns 0, or -1 with e. */
int relay_state_load(struct relay_state *r, struct params_table *t,
    struct relay_bytes bytes, struct err *e);

#endif
