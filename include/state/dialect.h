/* dialect.h - the settings under which a server parses a text that it prepares.
 *
 * Clients share a named statement of a server if it means the same under the
 * settings of each; see effects.h. (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#ifndef STATE_DIALECT_H
#define STATE_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct baggage;
struct client;
struct params;
struct server;

/* Embedded in server. All zero: nothing is known. */
struct dialect {
	struct baggage *set;	/* counted: the latest result, or NULL. The next
				 * three are what it was computed from */
	struct params *params;	/* counted */
	struct baggage *has;	/* counted, or NULL */
	struct baggage *trailed; /* counted: the trail of then, or NULL */
	struct baggage *trail;	/* counted: texts of SETs since the server was
				 * lent, of the role, and of search_path if the
				 * server does not report it */
	struct baggage *next;	/* counted: the trail with one more text; NULL:
				 * none is due */
	uint8_t owed;		/* SETs whose tags have not come yet */
	bool trails;		/* the trail is in use, or astray */
	bool unseen;		/* since it was lent, the client may have set
				 * something that is never reported */
	bool astray;		/* ... or the role or search_path, by other
				 * means than a SET alone, or by one that may be
				 * undone */
	/* until the server has reported all that is in force: */
	bool parsed;		/* a text was parsed, and the client shares the
				 * statement */
	bool pending;		/* something was sent that may change
				 * settings */
	bool inside;		/* something was set, maybe in a transaction */
};

void dialect_fini(struct dialect *d);
/*
 * s has this transaction status now: puts the SET that was due into the trail.
 */
void dialect_settle(struct dialect *d, char status);
/* A client is lent s, and has set nothing yet. */
void dialect_clear(struct dialect *d);

/* Hot: the server has reported everything that is in force. */
static inline void dialect_told(struct dialect *d, char status)
{
	d->parsed = d->pending = false;
	d->inside = d->inside && status != 'I';
	if (d->trails)
		dialect_settle(d, status);
}
/* Hot: is it certain that the dialect is this one? False: maybe it is. */
static inline bool dialect_is(const struct dialect *d, const void *set)
{
	return d->set == set && !d->unseen && !d->trails;
}
/*
 * Are the values of all parameters that s reports known for c, or will they be?
 */
bool dialect_is_known(const struct client *c, const struct server *s);
/*
 * Returns the dialect of c's server s after it has answered all that was sent;
 * borrowed. NULL: no memory.
 */
struct baggage *dialect_of(const struct client *c, struct server *s);

/*
 * DIALECT_RUNS: the text runs exactly once, by what is sent with it, alone in
 * its batch, in a transaction that continues.
 */
enum dialect_run { DIALECT_MAY_RUN, DIALECT_RUNS };
/* A text that is sent to s, or a prepared one that runs. */
struct dialect_text {
	const void *sql;
	size_t n;
	uint32_t effects;	/* see effects.h */
	enum dialect_run runs;
};
void dialect_note(struct server *s, const struct dialect_text *t);
/* s has completed a statement with this tag. */
void dialect_note_tag(struct server *s, const char *tag);
/* s has reported a new value of the parameter. */
void dialect_note_report(struct server *s, int parameter);

#endif
