/* sql_chars.h - what a byte of SQL may be: one look-up, as long texts have
 * many.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_CHARS_H
#define SQL_SQL_CHARS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SQL_CHAR_BLANK = 1,
	SQL_CHAR_LETTER = 2,	/* of ASCII */
	SQL_CHAR_DIGIT = 4,
	SQL_CHAR_UNDERSCORE = 8,
	SQL_CHAR_DOLLAR = 16,
	SQL_CHAR_HIGH = 32,	/* PostgreSQL takes it for a letter */
	/* what an identifier may have behind its first character */
	SQL_CHAR_INNER = SQL_CHAR_LETTER | SQL_CHAR_DIGIT |
	    SQL_CHAR_UNDERSCORE | SQL_CHAR_DOLLAR | SQL_CHAR_HIGH,
};

/* The bit of each byte; 0: it has none. */
static const uint8_t sql_chars[256] = {
	['\t' ... '\r'] = SQL_CHAR_BLANK,
	[' '] = SQL_CHAR_BLANK,
	['a' ... 'z'] = SQL_CHAR_LETTER,
	['A' ... 'Z'] = SQL_CHAR_LETTER,
	['0' ... '9'] = SQL_CHAR_DIGIT,
	['_'] = SQL_CHAR_UNDERSCORE,
	['$'] = SQL_CHAR_DOLLAR,
	[0x80 ... 0xff] = SQL_CHAR_HIGH,
};

static inline bool sql_char_is(char ch, unsigned bits)
{
	return (sql_chars[(uint8_t)ch] & bits) != 0;
}

#endif
