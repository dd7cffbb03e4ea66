/* sql.h - the few statements that a pooler must know when it sees them.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SQL_H
#define PROTO_SQL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is the text of a simple query, n bytes, nothing but DISCARD ALL or
 * DEALLOCATE [PREPARE] ALL? Then all prepared statements will be gone.
 */
bool sql_forgets_all(const char *sql, size_t n);

#endif
