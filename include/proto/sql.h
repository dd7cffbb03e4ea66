/* sql.h - the few statements that a pooler must know when it sees them.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SQL_H
#define PROTO_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SQL_NAME_MAX 64		/* PostgreSQL's NAMEDATALEN */

/*
 * Hot: can a DEALLOCATE or a DISCARD begin with this byte, counting blanks
 * and comments in front? Nearly always not.
 */
static inline bool sql_is_suspect(char first)
{
	return (first | 0x20) == 'd' || first == '-' || first == '/' ||
	    first == ' ' || (first >= '\t' && first <= '\r');
}

/*
 * May one of the statements of the text, n bytes, be DISCARD ALL or DEALLOCATE
 * [PREPARE] ALL? Then all prepared statements will be gone. One that looks so
 * inside of a string is taken for it, too.
 */
bool sql_forgets_all(const char *sql, size_t n);
/* Hot: can it, its NUL counted in n? A second statement may always. */
static inline bool sql_may_forget(const char *sql, size_t n)
{
	const char *end = n == 0 ? NULL : memchr(sql, ';', n);

	return (n > 0 && sql_is_suspect(sql[0])) ||
	    (end != NULL && (size_t)(end - sql) + 2 < n);
}

/* Hot: the same for the text of a Parse, which is one statement, not empty. */
static inline bool sql_may_forget_alone(char first)
{
	return sql_is_suspect(first) || first == ';';
}

/*
 * Is it nothing but DEALLOCATE [PREPARE] and a name? Then that is in name, as
 * the server understands it: folded, or without its quotes, and cut. Names that
 * the server would cut inside of a character, or fold by its locale, are left
 * to it.
 */
bool sql_deallocates(const char *sql, size_t n, char name[SQL_NAME_MAX]);

#endif
