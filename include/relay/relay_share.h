/* relay_share.h - with whom a client may share the statement that it prepares.
 *
 * With those for whom the text means the same: whoever sends it in the same
 * dialect (dialect.h), and has changed no schema ahead of it.
 * (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_SHARE_H
#define RELAY_RELAY_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/prepared.h"
#include "relay/relay_parts.h"

/* A text that comes now, and who may share its statement. */
struct share {
	struct prepared_text text;	/* those who have its dialect: found; or
					 * NULL: nobody, for want of knowledge */
	struct prepared *now;		/* borrowed; what the client has of it;
					 * NULL: it is a Parse */
	bool own;			/* found: nobody, for good */
	struct prepared *stmt;		/* found, counted: what they have; or
					 * NULL */
};

/* Any other step than RELAY_NEXT: the message waits for that to be known. */
enum relay_step relay_share_find(struct relay_up *up, struct share *sh);
/*
 * stmt, or a new one, of a text whose effects are read then; nobody shares what may
 * mean something else each time. NULL: no memory.
 */
struct prepared *relay_share_get(struct relay_up *up, struct share *sh);
/* A Parse of stmt is sent. */
void relay_share_note(struct relay_up *up, const struct prepared *stmt);

#endif
