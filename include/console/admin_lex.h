/* admin_lex.h - the words, quotes and signs that console commands are made of.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_ADMIN_LEX_H
#define CONSOLE_ADMIN_LEX_H

#include <stdbool.h>
#include <stddef.h>

#define ADMIN_PARAMS_MAX 64

/* What stands for $1, $2 ... of a prepared statement. */
struct admin_params {
	const char *const *values;	/* NULL: not known yet, take as "" */
	unsigned count;
};

struct lex {
	const char *at;		/* next byte; borrowed, NUL terminated */
	const struct admin_params *params;	/* NULL: there can be none */
	unsigned used;		/* the highest parameter met */
	bool cut;		/* a word was longer than its place */
};

/* Where a word goes. */
struct lex_word {
	char *buf;
	size_t size;
	unsigned param;		/* set: the parameter it came from; or 0 */
};

/* Returns false when there was none. */
bool lex_blank(struct lex *l);
/* The letters of an unquoted word, in any case; nothing is taken if not. */
bool lex_keyword(struct lex *l, const char *word);
/* This sign, blanks before it left out. */
bool lex_sign(struct lex *l, const char *sign);

/* [0-9A-Za-z_]+, "quoted", or a parameter. */
bool lex_word(struct lex *l, struct lex_word *out);
/* The same, or 'quoted', or a number with a sign. */
bool lex_value(struct lex *l, struct lex_word *out);
/* The same as drivers write it: ('5'::int4) */
bool lex_operand(struct lex *l, struct lex_word *out);
/* A value, or all up to the next blank or semicolon. */
bool lex_bare(struct lex *l, struct lex_word *out);
/* Everything left, without blanks and a semicolon at the end. */
bool lex_rest(struct lex *l, struct lex_word *out);

/* Nothing but blanks and at most one semicolon is left. */
bool lex_end(struct lex *l);

/* The highest parameter in a text of another grammar. */
unsigned lex_params(const char *query);

#endif
