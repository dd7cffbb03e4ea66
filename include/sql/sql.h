/* sql.h - the few statements that a pooler must know when it sees them.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SQL_NAME_MAX 64		/* PostgreSQL's NAMEDATALEN */
#define SQL_PARAMETER_MAX 256	/* a.b: longer ones are cut */
/* Bytes of a message whose text is read. What is longer may mean anything. */
#define SQL_TEXT_MAX 65536

/*
 * Hot: can a DEALLOCATE or a DISCARD begin with this byte, counting blanks
 * and comments in front? Nearly always not.
 */
static inline bool sql_is_suspect(char first)
{
	return (first | 0x20) == 'd' || first == '-' || first == '/' ||
	    first == ' ' || (first >= '\t' && first <= '\r');
}
/* And a RESET? */
static inline bool sql_is_suspect_reset(char first)
{
	return sql_is_suspect(first) || (first | 0x20) == 'r';
}

/* Does the text begin with DISCARD ALL or DEALLOCATE [PREPARE] ALL? */
bool sql_forgets_at(const char *at, const char *end);
enum sql_change {
	SQL_NO_CHANGE,
	SQL_RESETS,	/* RESET, SET ... TO DEFAULT, DISCARD ALL */
	SQL_SETS,	/* SET to something else */
};

/*
 * The next of the statements of the text from *at to end, or to a NUL, that
 * changes a parameter for the session: the one in name, as the server
 * understands it, or "" for all. No more: SQL_NO_CHANGE.
 */
enum sql_change sql_next_change(const char **at, const char *end,
    char name[SQL_PARAMETER_MAX]);
/* Does the text begin with one? Blanks and comments in front do not count. */
enum sql_change sql_change_at(const char *at, const char *end,
    char name[SQL_PARAMETER_MAX]);
/*
 * Does what stands behind the word set_config, at, make a call whose first argument
 * is a literal? NULL for a value resets. (Whether for the session, is not looked at.)
 */
enum sql_change sql_call_at(const char *at, const char *end,
    char name[SQL_PARAMETER_MAX]);
/* Is one of the words, in lower case, the last one NULL, the first of a statement? */
bool sql_begins(const char *sql, size_t n, const char *const *words);
/* ... of the first statement? */
bool sql_starts(const char *sql, size_t n, const char *const *words);
/* Is it CREATE FUNCTION or PROCEDURE alone, which runs nothing? */
bool sql_defines_function(const char *sql, size_t n);
/*
 * Hot: EFFECT_MATTERS, as a look at a text with its NUL tells: may it change a
 * parameter or forget statements? A second statement may always.
 */
static inline bool sql_may_matter(const char *sql, size_t n)
{
	const char *end = n == 0 ? NULL : memchr(sql, ';', n);

	return (n > 0 && sql_is_suspect_reset(sql[0])) ||
	    (n > 2 && (sql[0] | 0x20) == 's' && (sql[2] | 0x20) == 't') ||
	    (end != NULL && (size_t)(end - sql) + 2 < n);
}

/*
 * Hot: the same for the text of a Parse, which is one statement, not empty;
 * but for SET.
 */
static inline bool sql_may_matter_alone(char first)
{
	return sql_is_suspect_reset(first) || first == ';';
}

/* Hot: can it draw numbers, by its first byte? (Not where sql_may_matter().) */
static inline bool sql_is_suspect_draw(char first)
{
	return (first | 0x20) == 'u' || (first | 0x20) == 'w' || first == '(';
}

/*
 * Is sql nothing but DEALLOCATE [PREPARE] and a name? Then that is in name, as
 * the server understands it: folded, or without its quotes, and cut. Names that
 * the server would cut inside of a character, or fold by its locale, are left
 * to it.
 */
bool sql_deallocates(const char *sql, size_t n, char name[SQL_NAME_MAX]);

/*
 * Hot: can a text that begins with this byte want a database for itself? Those
 * of most texts (select, insert, update, begin, with) can't.
 */
static inline bool sql_may_want_alone(char first)
{
	const uint64_t letters = 1 << ('a' & 31) | 1 << ('c' & 31) |
	    1 << ('d' & 31);

	const uint8_t byte = (uint8_t)first;	/* char has a sign or not */

	return byte >= 'A' && byte < 0x80 ? (letters >> (byte & 31) & 1) != 0 :
	    byte <= '/' || byte >= 0x80;
}
/*
 * Does the text want a database that nobody else is connected to: DROP DATABASE,
 * ALTER DATABASE that renames or moves it, CREATE DATABASE, which copies one? Then
 * that is in name, as by sql_deallocates().
 */
bool sql_wants_alone(const char *sql, size_t n, char name[SQL_NAME_MAX]);

#endif
