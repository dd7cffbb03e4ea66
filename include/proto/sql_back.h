/* sql_back.h - which parameters may have their defaults again behind a text.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SQL_BACK_H
#define PROTO_SQL_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
