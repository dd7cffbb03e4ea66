/* relay_schema.h - what a client changes of schemas, and what it prepares then.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_SCHEMA_H
#define SESSION_RELAY_SCHEMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct relay_down;
struct server;
struct sessions;

/* How often anybody has changed a schema. */
struct schemas {
	_Atomic uint64_t changes;	/* by several workers */
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
/* What s has changed may be in force now, or is from the end of s on. */
void relay_schema_changed(struct server *s);
/* The end of s; what it has left open may be in force. */
void relay_schema_end(struct server *s);

#endif
