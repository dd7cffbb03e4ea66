/* sql_timeless.h - texts that mean the same each time they are parsed.
 *
 * As long as settings, schemas and roles are the same. What is not plain is
 * taken for one that does not: it costs a Parse.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_TIMELESS_H
#define SQL_SQL_TIMELESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is the text, n bytes with a NUL, a SELECT, INSERT, UPDATE, DELETE or VALUES, or
 * begins WITH, so that
 * - no literal in it can be read by the clock ('now', a time without a date):
 *   none has a digit, or one of the words;
 * - it makes no table, and has none of the words of sql_leave.h;
 * - PostgreSQL has nothing to remark on it (names too long, backslashes)?
 */
bool sql_is_timeless(const char *sql, size_t n);

/* Does it begin a transaction, and nothing else? */
bool sql_is_begin(const char *sql, size_t n);

#endif
