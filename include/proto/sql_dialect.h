/* sql_dialect.h - what a text means by settings, and what may change those.
 *
 * PostgreSQL reads the literals of a statement when it parses it, by what is set
 * then: '2024-01-01'::timestamptz by TimeZone, 'a\' by
 * standard_conforming_strings. Those settings are the dialect of a text.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SQL_DIALECT_H
#define PROTO_SQL_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does the text, with its NUL and what follows in n bytes, mean the same in all
 * dialects, but for who runs it? It has no literal but numbers, and is ASCII.
 */
bool sql_is_plain(const void *sql, size_t n);

/*
 * May a literal of it mean another time whenever it is read ('now', 'today')?
 */
bool sql_reads_clock(const void *sql, size_t n);

/*
 * May n bytes, of SQL or messages, change a parameter when they are run? The
 * words SET and RESET, and others that end a transaction or call what may; in
 * strings and comments, too.
 */
bool sql_may_set(const void *sql, size_t n);
/* ... one of the dialect that the server does not report; not the role? */
bool sql_may_set_unseen(const void *sql, size_t n);
/* ... the role? */
bool sql_may_set_role(const void *sql, size_t n);
/* ... all of them, in one go? */
bool sql_may_set_all(const void *sql, size_t n);

/* One of the three? */
static inline bool sql_may_set_dialect(const void *sql, size_t n)
{
	return sql_may_set_unseen(sql, n) || sql_may_set_role(sql, n) ||
	    sql_may_set_all(sql, n);
}

/* Is the parameter of a dialect, and will a server not report it? */
bool sql_dialect_is_unseen(const char *name);

#endif
