/* relay_deallocate.h - DEALLOCATE of a name that only we know.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_DEALLOCATE_H
#define SESSION_RELAY_DEALLOCATE_H

#include <stdbool.h>

#include "proto/sql.h"
#include "session/relay_parts.h"

/*
 * A whole simple query that is DEALLOCATE of a name of the client's: answer
 * it, or have the server answer. Returns false when it is not.
 */
bool relay_deallocate_query(struct relay_up *up, enum relay_step *step);
/* Hot: the same; the first byte of most queries tells that they are not. */
static inline bool relay_deallocate(struct relay_up *up, enum relay_step *step)
{
	return up->named && up->have >= up->size && up->size > MSG_HEADER &&
	    sql_is_suspect((char)up->m[MSG_HEADER]) &&
	    relay_deallocate_query(up, step);
}

/*
 * The same for Parse of the unnamed statement: from then on the name is
 * leaving, till the unnamed statement is another one.
 */
bool relay_parse_deallocate(struct relay_up *up, enum relay_step *step);
/*
 * A name is leaving, and a Bind of portal comes: to the unnamed statement
 * (ours), or to another one. RELAY_NEXT, or RELAY_STOP: no memory.
 */
enum relay_step relay_bind_leaving(struct relay_up *up, const char *portal,
    bool ours);
/*
 * The same of a whole Execute, which is passed on. If it is of that portal the
 * name is gone, unless it fails.
 */
enum relay_step relay_execute_leaving(struct relay_up *up);

/* The unnamed statement of c is no more, or has been executed. */
void relay_forget_leaving(struct client *c);

#endif
