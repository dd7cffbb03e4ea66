/* relay_schema.h - what a client changes of schemas, and what it prepares then.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_SCHEMA_H
#define RELAY_RELAY_SCHEMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct relay_down;
struct server;
struct sessions;

#define SCHEMA_SLOTS 64

/* How often anybody has changed a schema; by several workers. */
struct schemas {
	_Atomic uint64_t changes;	/* or may have */
	_Atomic uint64_t known[SCHEMA_SLOTS];	/* by the name that its
						 * database has on servers */
};

/* Has the client of a server changed a schema so far? */
enum schema_open {
	SCHEMA_SAME,
	SCHEMA_MAYBE,		/* a SELECT of no rows may be a SELECT INTO */
	SCHEMA_CHANGED,
};

/*
 * A whole CommandComplete: notes in the server that its client changed one
 * (schema_changed, until it is given back), and that this may be in force with
 * the next answer (schema_open, until the end of the transaction).
 */
void relay_schema_tag(const struct relay_down *d);
/* Changes of schemas, by all clients of all workers, are counted as one. */
void relay_schema_share(struct sessions *ss, struct sessions *first);
/* What was sent when this was as it is now, has seen the same schemas. */
uint64_t relay_schema_changes(const struct sessions *ss);
/* The same of the database of s, for what is known alone. It is never 0. */
uint64_t relay_schema_generation(const struct server *s);
/* Somebody has changed a schema in the database of s. */
void relay_schema_changed(struct server *s);
/* What the client of s has sent may change a schema: its tag will not say so. */
void relay_schema_may_change(struct server *s);
/* What s has open may be in force now. */
void relay_schema_in_force(struct server *s);
/* The end of s; what it has left open may be in force. */
void relay_schema_end(struct server *s);

#endif
