/* dialect.h - in which settings a server reads what it is to prepare.
 *
 * Clients share a named statement of a server if their settings have it mean the
 * same; see effects.h. (spec/pooling.md section 16)
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

/* Embedded in server; all zero: nothing is known. */
struct dialect {
	struct baggage *set;	/* counted; what it was last; or NULL */
	struct params *params;	/* counted; ... which was made of these */
	struct baggage *has;	/* counted; ... and these, or NULL */
	struct baggage *trailed; /* counted; ... and what this was, or NULL: */
	struct baggage *trail;	/* counted; what has set the role since it was
				 * lent, and search_path where s does not
				 * report it: texts of SETs */
	struct baggage *next;	/* counted; ... will be, with one more; or NULL */
	uint8_t owed;		/* SETs that are to be told as done */
	bool trails;		/* there is one of the two, or it is astray */
	bool unseen;		/* its client may have set what no report
				 * tells since it was lent */
	bool astray;		/* ... or the role or search_path, not by a SET
				 * alone, or that may be undone */
	/* until s has told all that is in force: */
	bool parsed;		/* a text was, and is shared by this */
	bool pending;		/* what may set something was sent */
	bool inside;		/* something was set, maybe in a transaction */
};

void dialect_fini(struct dialect *d);
/* The status of s is that: is what is to go to the trail in force? */
void dialect_settle(struct dialect *d, char status);
/* Nobody has set anything in s since it was lent. */
void dialect_clear(struct dialect *d);

/* Hot: it has told all that is in force, in this status of a transaction. */
static inline void dialect_told(struct dialect *d, char status)
{
	d->parsed = d->pending = false;
	d->inside = d->inside && status != 'I';
	if (d->trails)
		dialect_settle(d, status);
}
/* Hot: is it set, whoever has been before? False: that may be, too. */
static inline bool dialect_is(const struct dialect *d, const void *set)
{
	return d->set == set && !d->unseen && !d->trails;
}
/* Are the values of all that s reports known, or will be, for c? */
bool dialect_is_known(const struct client *c, const struct server *s);
/*
 * What c's server s reads texts in, once it has answered all that was sent;
 * borrowed. NULL: no memory.
 */
struct baggage *dialect_of(const struct client *c, struct server *s);

/*
 * Does what is sent run, once, by what is sent with it, alone in its batch, in a
 * transaction that goes on?
 */
enum dialect_run { DIALECT_MAY_RUN, DIALECT_RUNS };
/* s is sent this text of n bytes, or runs what was prepared of it. */
struct dialect_text {
	const void *sql;
	size_t n;
	uint32_t effects;	/* of effects.h */
	enum dialect_run runs;
};
void dialect_note(struct server *s, const struct dialect_text *t);
/* s has done what has this tag. */
void dialect_note_tag(struct server *s, const char *tag);
/* The value of a parameter has changed, says s. */
void dialect_note_report(struct server *s, int parameter);

#endif
