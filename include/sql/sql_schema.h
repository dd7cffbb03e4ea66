/* sql_schema.h - texts that may change what the names of others stand for.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_SCHEMA_H
#define SQL_SQL_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is there a word in n bytes, of SQL or messages, that makes, changes or drops
 * what has a name: CREATE, ALTER, DROP, IMPORT, and INTO but for that of INSERT
 * and MERGE? Comments and strings count, too.
 */
bool sql_may_change_schema(const void *sql, size_t n);

#endif
