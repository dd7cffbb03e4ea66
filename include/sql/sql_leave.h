/* sql_leave.h - texts that may leave something behind in a session.
 *
 * Command tags tell of a SET, a LISTEN or a PREPARE. The words here are for
 * effects that no tag tells: CREATE TEMP and SELECT INTO TEMP, pg_temp,
 * set_config(), advisory locks of the session, sequences; and for functions of
 * PostgreSQL's own that run SQL which may be put together from pieces.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_LEAVE_H
#define SQL_SQL_LEAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Hot: may one of the words be in n bytes of SQL? False: the text has no
 * EFFECT_WORDS. Comments and strings count, too.
 */
bool sql_may_leave(const void *sql, size_t n);

/*
 * What the words of a text say, of effects.h, that comes in pieces, whatever their
 * sizes, and that is not kept: all zero at first. A block, and set_config(), may be
 * anything (EFFECT_HIDES, and the block EFFECT_MAY_OPEN), because what is behind them
 * is not read.
 */
#define SQL_LONG_KEPT 96
struct sql_long {
	uint32_t what;		/* effects, found up to now */
	uint8_t kept;
	char last[SQL_LONG_KEPT];
};

/* The next n bytes; the last ones are looked at when more has come. */
void sql_long_take(struct sql_long *l, const void *bytes, size_t n);
/* There is no more. */
void sql_long_end(struct sql_long *l);

#endif
