/* relay_schema.h - what a client changes of schemas, and what it prepares then.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_SCHEMA_H
#define SESSION_RELAY_SCHEMA_H

struct relay_down;

/* A whole CommandComplete: notes in the server that its client changed one. */
void relay_schema_tag(const struct relay_down *d);

#endif
