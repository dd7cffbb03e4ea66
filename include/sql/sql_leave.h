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
 * Hot: is one of the words in n bytes of SQL? Comments and strings count, too:
 * a false hit costs a look at the session, no more.
 */
bool sql_may_leave(const void *sql, size_t n);

/*
 * What the words say, if there are some, of effects.h. 0: all of them are calls of
 * set_config('name', ..., true), which end with the transaction.
 */
uint32_t sql_what_leaves(const void *sql, size_t n);

/*
 * The same of a text that comes in pieces, whatever their sizes, and that is not
 * kept: all zero at first. A block, and set_config(), may be anything (EFFECT_HIDES,
 * and the block EFFECT_MAY_OPEN), because what is behind them is not read.
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

/*
 * May the text draw numbers from sequences, though its tag does not say so? An
 * UPDATE to DEFAULT, an INSERT or MERGE in a WITH.
 */
bool sql_may_draw(const void *sql, size_t n);
/* Hot: can it, by its first byte? (Not where sql_may_matter().) */
static inline bool sql_is_suspect_draw(char first)
{
	return (first | 0x20) == 'u' || (first | 0x20) == 'w' || first == '(';
}

/*
 * Is the first statement one whose tag is SET, and that leaves nothing: SET
 * LOCAL, SET TRANSACTION?
 */
bool sql_is_local(const char *sql, size_t n);

/* Is the first statement a SET or RESET? False where a comment is in the way. */
bool sql_is_set(const char *sql, size_t n);

/* Is there no other statement behind the first one, as far as can be seen? */
bool sql_is_single(const char *sql, size_t n);

#endif
