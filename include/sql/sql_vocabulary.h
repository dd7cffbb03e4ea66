/* sql_vocabulary.h - all words that say what a text may do; for src/sql alone.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_VOCABULARY_H
#define SQL_SQL_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

/* What a word says, wherever it stands. */
enum {
	W_FORGETS = 1 << 0,
	W_ALL = 1 << 1,
	W_VIEW = 1 << 2,	/* pg_settings */
	W_UPDATE = 1 << 3,
	W_UNSEEN = 1 << 4,	/* a parameter that no server reports */
	W_ACTING = 1 << 5,	/* the role */
	W_PATH = 1 << 6,
	W_SCHEMA = 1 << 7,
	W_CALL = 1 << 8,	/* set_config */
	W_REPORTED = 1 << 9,	/* a parameter that a server may report */
	W_DEFAULT = 1 << 10,
	W_ADDS = 1 << 11,	/* INSERT, MERGE */
	W_WITH = 1 << 12,
	W_NAMED = 1 << 13,	/* regrole: a literal is what has that name now */
	W_LOAD = 1 << 14,
	W_PIECES = 1 << 15,	/* SQL put together, or another language */
	W_SET = 1 << 16,
	W_TEMP = 1 << 17,
	W_CHANGES = 1 << 18,	/* CREATE and the like */
	W_INTO = 1 << 19,
	W_DO = 1 << 20,
	W_QUERY = 1 << 21,	/* a call that runs a string */
	W_OPTION = 1 << 22,	/* SET XML OPTION */
};

/* ... and what it says as the first one of a statement. */
enum {
	F_SET = 1 << 0,
	F_RESETS = 1 << 1,
	F_FORGETS = 1 << 2,
	F_RUNS = 1 << 3,	/* anything */
	F_DO = 1 << 4,
	F_ENDS = 1 << 5,
	F_UTILITY = 1 << 6,
	F_BEGINS = 1 << 7,
	F_QUERY = 1 << 8,
	F_READS = 1 << 9,
};

struct sql_word {
	const char *text;
	uint32_t says, first;
};

/* The word of n bytes, in any case; NULL: it is none of them. */
const struct sql_word *sql_find_word(const char *at, size_t n);

/* One of 32 places for what a letter is about. */
#define LETTER(ch) ((unsigned char)(ch) & 31)

#endif
