/* relay_own.h - a client meets with its own unnamed statement, on any server.
 * (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_OWN_H
#define RELAY_RELAY_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/relay_parts.h"

/* Changes in a run of messages: the first and the newest one. */
struct own_run {
	const uint8_t *newest, *oldest;
	unsigned first, last;	/* their places among what the server owes */
	unsigned count;		/* 0: none, and nothing else is set */
};

static inline void own_run_add(struct own_run *r, const uint8_t *m,
    unsigned place)
{
	if (r->count++ == 0) {
		r->first = place;
		r->oldest = m;
	}
	r->newest = m;
	r->last = place;
}

/* Hot: has the server what an unnamed Bind or Describe is to meet with? */
static inline bool relay_own_is_there(const struct client *c,
    const struct server *s)
{
	return c->relay.own.serial == s->unnamed;
}

/* Hot: the changes of a run are noted; there is one. */
void relay_own_note_run(struct client *c, struct server *s,
    struct own_run run);
/* The message at hand, which is noted as owed at this place, is a change. */
void relay_own_note(struct relay_up *up, unsigned place);
/* The same of a Close of ours. */
void relay_own_note_close(struct relay_up *up, unsigned place);

/* Is the message a Parse without a name, a Close of "", or a Query? */
bool relay_own_changes(const struct relay_up *up);
/* A Parse without a name, or Close, comes: no need to wait for the one before. */
void relay_own_replaces(const struct relay_up *up);
/* Is the message at hand a Parse without a name that is kept, and not whole? */
bool relay_own_is_cut(const struct relay_up *up);
/*
 * A Bind or Describe of "" comes. RELAY_NEXT: it will meet with the statement
 * of its client, or with none.
 */
enum relay_step relay_own_reach(struct relay_up *up);
/* The same of a Bind. False: *step is what becomes of the message. */
bool relay_own_meets(struct relay_up *up, enum relay_step *step);
/* A Describe of "" passes: its answer tells the client what it has. */
enum relay_step relay_own_tell(struct relay_up *up);
/* Where named statements are no business of ours. */
enum relay_step relay_own_bind(struct relay_up *up);
enum relay_step relay_own_describe(struct relay_up *up);
enum relay_step relay_own_close(struct relay_up *up);

/*
 * A ParameterDescription came; or a RowDescription, or NoData. False: the rest of it,
 * and of what is behind it, must be here first.
 */
bool relay_own_note_params(const struct relay_down *d);
bool relay_own_note_columns(const struct relay_down *d);
/* s, the server of c, has said that the oldest request failed. */
void relay_own_failed(struct client *c, struct server *s);
/* A Query was answered here: c has no unnamed statement. */
void relay_own_drop(struct client *c);
/* c comes from another process or worker, with what it has. */
void relay_own_came(struct client *c);
/* c is closed, or goes there. */
void relay_own_fini(struct client *c);

#endif
