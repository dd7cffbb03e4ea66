/* sql_back.h - which parameters may have their defaults again behind a text.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SQL_BACK_H
#define PROTO_SQL_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sql/sql.h"

struct params_table;

#define SQL_BACK_ALL UINT64_MAX

/* One bit for each parameter that counts. */
struct sql_back {
	struct params_table *names;	/* these count; or, where bit is set: */
	uint64_t (*bit)(const struct sql_back *b, const char *name);	/* "": all */
	const void *of;		/* what bit() is about */
	bool strict;		/* what only may come back, does not */
	const uint8_t *values;	/* of a Bind, from its format codes on, or NULL */
	size_t len;
	uint64_t back;		/* these may have their defaults */
	uint64_t set;		/* a statement behind that sets these */
	bool others;		/* a statement resets one that is not of names */
};

/*
 * Add to b what the text, up to a NUL, does to parameters: by statements, in blocks
 * of DO, and by calls of set_config(), whose arguments may be of a Bind.
 */
void sql_back_read(struct sql_back *b, const char *sql, size_t max);

/* Does set_config, in any spelling but U&"..", stand before the parenthesis? */
bool sql_back_is_call(const char *sql, const char *parenthesis);

/* Hot: is there a call of set_config()? */
static inline bool sql_back_calls(const char *sql, size_t n)
{
	const char *const end = sql + n;
	const char *at = sql;

	while (at < end && (at = memchr(at, '(', (size_t)(end - at))) != NULL) {
		const char last = at == sql ? 'a' : at[-1];

		if (((last | 0x20) == 'g' || last <= '/') &&
		    sql_back_is_call(sql, at))
			return true;
		at++;
	}
	return false;
}

/* Hot: may the text of a Parse do so? */
static inline bool sql_back_may_alone(const char *sql, size_t n)
{
	return sql_may_matter_alone(sql[0]) || ((sql[0] | 0x20) == 's' &&
	    n > 2 && (sql[2] | 0x20) == 't') || sql_back_calls(sql, n);
}

/* May the text of a Query, or of a Parse, do so? n counts its NUL. */
static inline bool sql_back_may(const char *sql, size_t n)
{
	return sql_may_matter(sql, n) || sql_back_calls(sql, n);
}

#endif
