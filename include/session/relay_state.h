/* relay_state.h - what the relay knows of a client from burst to burst.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_STATE_H
#define SESSION_RELAY_STATE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct writer;

/* Embedded in client; all zero at first. */
struct relay_state {
	bool hold;		/* what follows waits for the replies */
	bool parse_tried;	/* the server was asked what it says to the
				 * Parse at hand, whose name is taken */
	bool execute_holds;	/* the next Execute may be of a DISCARD ALL
				 * or so: what follows waits for its reply */
	bool discards;		/* a batch was given up: see relay_discard() */
	struct {		/* what the unnamed statement deallocates: */
		char *name;	/* owned; the client's, or NULL */
		char *portal;	/* owned; of that statement, or NULL */
	} dealloc;
};

/* Does what comes behind the next Execute depend on its success? */
static inline bool relay_execute_holds(const struct relay_state *r)
{
	return r->execute_holds || r->dealloc.name != NULL;
}

void relay_state_fini(struct relay_state *r);
/* The unnamed statement is another one, or no more. */
void relay_dealloc_clear(struct relay_state *r);

/* As bytes, for another process; and back. 0, or -1 with e. */
void relay_state_save(const struct relay_state *r, struct writer *w);
int relay_state_load(struct relay_state *r, const void *p, size_t n,
    struct err *e);

#endif
