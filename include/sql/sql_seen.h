/* sql_seen.h - texts that were looked at, and what they may do.
 *
 * Programs ask the same again and again. To compare a text with one of before costs
 * a part of reading it (effects.h).
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_SEEN_H
#define SQL_SQL_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SQL_SEEN_MAX 247	/* bytes: longer ones are looked at each time */
#define SQL_SEEN_BITS 6
#define SQL_SEEN_PIECE sizeof(uint64_t)

/* All zero at first; each text has one place, and the newest one is there. */
struct sql_seen {
	struct sql_seen_text {
		struct sql_seen_answer {
			uint32_t effects;	/* if whole */
			bool plain;		/* EFFECT_PLAIN */
			bool whole;		/* it was read, not glanced at */
		} answer;
		uint8_t len;			/* 0: none */
		char text[SQL_SEEN_MAX];
	} texts[1 << SQL_SEEN_BITS];
};

/* A text of SQL_SEEN_PIECE to SQL_SEEN_MAX bytes: its place. */
static inline struct sql_seen_text *sql_seen_place(struct sql_seen *t,
    const char *text, size_t n)
{
	uint64_t middle, end;

	memcpy(&middle, text + (n - SQL_SEEN_PIECE) / 2, sizeof middle);
	memcpy(&end, text + n - SQL_SEEN_PIECE, sizeof end);
	/* an odd number mixes all bits into the highest */
	return &t->texts[(middle * 3 + end) * 0x9e3779b97f4a7c15u >>
	    (64 - SQL_SEEN_BITS)];
}

/* ... if it is there; or NULL. */
static inline struct sql_seen_text *sql_seen_find(struct sql_seen *t,
    const char *text, size_t n)
{
	struct sql_seen_text *const at = sql_seen_place(t, text, n);

	return at->len == n && memcmp(at->text, text, n) == 0 ? at : NULL;
}

/* The text is not there: is it EFFECT_PLAIN? */
bool sql_seen_anew(struct sql_seen *t, const char *text, size_t n);

/*
 * Hot: is it sure that the text of a Query or of an unnamed Parse, with what is
 * behind it in the message, is EFFECT_PLAIN?
 */
static inline bool sql_seen_is_plain(struct sql_seen *t, const char *text,
    size_t n)
{
	if (n < SQL_SEEN_PIECE || n > SQL_SEEN_MAX)
		return sql_seen_anew(t, text, n);
	const struct sql_seen_text *const at = sql_seen_find(t, text, n);

	return at != NULL ? at->answer.plain : sql_seen_anew(t, text, n);
}

/* The effects of that text, of at most SQL_TEXT_MAX bytes. */
uint32_t sql_seen_effects(struct sql_seen *t, const char *text, size_t n);

#endif
