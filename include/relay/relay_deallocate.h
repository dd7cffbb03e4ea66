/* relay_deallocate.h - DEALLOCATE of a name that only we know.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_DEALLOCATE_H
#define RELAY_RELAY_DEALLOCATE_H

#include <stdbool.h>

#include "relay/relay_parts.h"
#include "sql/sql.h"

/*
 * A whole simple query that is DEALLOCATE of a name of the client's: answer
 * it, or have the server answer. Returns false when it is not.
 */
bool relay_dealloc_query(struct relay_up *up, enum relay_step *step);
/* Hot: the same; the first byte of most queries tells that they are not. */
static inline bool relay_deallocate(struct relay_up *up, enum relay_step *step)
{
	return up->named && up->have >= up->size && up->size > MSG_HEADER &&
	    sql_is_suspect((char)up->m[MSG_HEADER]) &&
	    relay_dealloc_query(up, step);
}

/*
 * The same for Parse of the unnamed statement, which deallocates that name
 * from then on (relay_state.dealloc), till it is another one.
 */
bool relay_dealloc_parse(struct relay_up *up, enum relay_step *step);
/* The same of a Parse that is sent again (relay_own.h). */
bool relay_dealloc_again(struct relay_up *up, enum relay_step *step);
/*
 * The unnamed statement deallocates a name, and a Bind of portal comes: to that
 * statement (ours), or to another one. RELAY_NEXT, or RELAY_STOP: no memory.
 */
enum relay_step relay_dealloc_bind(struct relay_up *up, const char *portal,
    bool ours);
/*
 * The same of a whole Execute, which is passed on. If it is of that portal the
 * name is gone, unless it fails.
 */
enum relay_step relay_dealloc_execute(struct relay_up *up);

/*
 * Have PREPARED_NAME_DUMMY there, whatever the transaction; it stays. 0, or -1:
 * no memory.
 */
int relay_prepare_dummy(struct relay_up *up);

#endif
