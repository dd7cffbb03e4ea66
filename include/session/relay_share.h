/* relay_share.h - with whom a client may share the statement that it prepares.
 *
 * With those for whom the text means the same: whoever sends it in the same
 * dialect (dialect.h), and has changed no schema ahead of it.
 * (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_SHARE_H
#define SESSION_RELAY_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include "session/relay_parts.h"

struct prepared;

/* Who may share a text, or a statement, that comes now. */
struct share {
	struct baggage *dialect;	/* borrowed; those who have this; NULL:
					 * all, as it is plain */
	bool apart;			/* nobody */
};

/*
 * A Parse of the body, len bytes, comes, or must come now: who shares it? Any
 * other step: the message at hand waits for that to be known.
 */
enum relay_step relay_share_look(struct relay_up *up, const void *body,
    size_t len, struct share *out);
/* The same of a text that is known. */
enum relay_step relay_share_again(struct relay_up *up,
    const struct prepared *stmt, struct share *out);
/* Is stmt one of those? */
bool relay_share_is(const struct share *sh, const struct prepared *stmt);
/* The statement for the body, counted, if there is one; or NULL. */
struct prepared *relay_share_find(const struct relay_up *up,
    const struct share *sh, const void *body, size_t len);
/* The same, or a new one; not shared if the text means another time each time
 * it is read. NULL: no memory. */
struct prepared *relay_share_get(const struct relay_up *up,
    const struct share *sh, const void *body, size_t len);
/* stmt is sent: was it the first thing since all was told? */
void relay_share_note(struct relay_up *up, const struct prepared *stmt);

#endif
