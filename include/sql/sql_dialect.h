/* sql_dialect.h - what a text means by settings, and what may change those.
 *
 * PostgreSQL reads the literals of a statement when it parses it, by what is set
 * then: '2024-01-01'::timestamptz by TimeZone, 'a\' by
 * standard_conforming_strings; and when it plans it, those of functions, and what
 * does not change (0.1::float8::text). Those settings are the dialect of a text.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_DIALECT_H
#define SQL_SQL_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * May a literal of the text mean something else each time it is read, whatever
 * is set: by the clock ('now', 'today'), or what has a name ('x'::regrole)?
 */
bool sql_is_momentary(const void *sql, size_t n);

/* A SET, a COMMIT or the like, which PostgreSQL reads once? */
bool sql_is_utility(const void *sql, size_t n);

/*
 * May n bytes of SQL change what is of a dialect when they are run? By the first
 * words of the statements, set_config(), and names.
 */
bool sql_may_set(const void *sql, size_t n);
/* ... end a transaction in which that was done? */
bool sql_may_end(const void *sql, size_t n);
/* ... one of the dialect that the server does not report; not the role? */
bool sql_may_set_unseen(const void *sql, size_t n);
/* ... the role? */
bool sql_may_set_role(const void *sql, size_t n);
/* ... search_path? */
bool sql_may_set_path(const void *sql, size_t n);
/* Is it one SET or RESET, whose text says all? */
bool sql_is_lone_set(const char *sql, size_t n);
/* ... all of them, in one go? */
bool sql_may_set_all(const void *sql, size_t n);
/* One of the three? */
static inline bool sql_may_set_dialect(const void *sql, size_t n)
{
	return sql_may_set_unseen(sql, n) || sql_may_set_role(sql, n) ||
	    sql_may_set_all(sql, n);
}

/* Is the parameter of a dialect, and may a server not report it? */
bool sql_dialect_is_unseen(const char *name);

#endif
