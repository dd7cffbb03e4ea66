/* sql_seen.h - texts that were looked at, and leave nothing in a session.
 *
 * Programs ask the same again and again. To compare a text with what was found
 * before costs a part of looking for words in it (sql_leave.h).
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_SEEN_H
#define SQL_SQL_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SQL_SEEN_MAX 252	/* bytes: longer ones are looked at each time */
#define SQL_SEEN_BITS 6
#define SQL_SEEN_PIECE sizeof(uint64_t)

/* All zero at first; each text has one place, and the newest one is there. */
struct sql_seen {
	struct sql_seen_text {
		uint32_t len;		/* 0: none */
		char text[SQL_SEEN_MAX];
	} texts[1 << SQL_SEEN_BITS];
};

/* A text of SQL_SEEN_PIECE to SQL_SEEN_MAX bytes: its place. */
static inline struct sql_seen_text *sql_seen_place(struct sql_seen *t,
    const char *body, size_t n)
{
	uint64_t middle, end;

	memcpy(&middle, body + (n - SQL_SEEN_PIECE) / 2, sizeof middle);
	memcpy(&end, body + n - SQL_SEEN_PIECE, sizeof end);
	/* an odd number mixes all bits into the highest */
	return &t->texts[(middle * 3 + end) * 0x9e3779b97f4a7c15u >>
	    (64 - SQL_SEEN_BITS)];
}

/* The text is not there: may it change anything? If not, it is from now on. */
bool sql_seen_anew(struct sql_seen *t, const char *body, size_t n);

/*
 * Hot: is it sure that the body of a Query or of an unnamed Parse changes
 * nothing of a session, as by sql_may_matter() and sql_may_leave()?
 */
static inline bool sql_seen_is_plain(struct sql_seen *t, const char *body,
    size_t n)
{
	if (n < SQL_SEEN_PIECE || n > SQL_SEEN_MAX)
		return sql_seen_anew(t, body, n);
	const struct sql_seen_text *const at = sql_seen_place(t, body, n);

	return (at->len == n && memcmp(at->text, body, n) == 0) ||
	    sql_seen_anew(t, body, n);
}

#endif
