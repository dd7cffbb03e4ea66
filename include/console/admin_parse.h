/* admin_parse.h - the console's grammar: words, quotes and signs, one command
 * a message.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_ADMIN_PARSE_H
#define CONSOLE_ADMIN_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words, quotes and signs that console commands are made of. */

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

#define SHOW_COLUMNS_MAX 64
#define SHOW_WHERE_MAX 8

enum show_op {
	SHOW_EQUAL, SHOW_UNEQUAL, SHOW_LESS, SHOW_GREATER, SHOW_AT_MOST,
	SHOW_AT_LEAST, SHOW_NULL, SHOW_NOT_NULL,
};

struct show_condition {
	char column[64];
	enum show_op op;
	char value[256];
	unsigned param;		/* value is this parameter; 0 = a constant */
	bool bare;		/* value had no apostrophes: a name or a word */
};

/* What SHOW shows of a topic: columns, and rows for which all of where holds. */
struct show_query {
	bool json;
	bool extended;		/* all columns, where none are named */
	char columns[SHOW_COLUMNS_MAX][64];
	size_t column_count;	/* 0 = all */
	struct show_condition where[SHOW_WHERE_MAX];
	size_t where_count;
	char order[64];		/* "" = as they come */
	bool descending;
	int64_t limit;		/* -1 = none */
	unsigned limit_param;	/* limit is this parameter; 0 = a constant */
};

/* spec/admin-console.md section 2, "Command grammar", and what we add to it */
struct admin_command {
	char verb[16];		/* "SHOW", as given; compare without case */
	char arg[64];		/* unquoted; "" with has_arg false: none */
	char value[256];	/* SET, LOG, ... HOST, ... USER, DRAIN */
	bool has_arg;
	bool is_set;
	bool is_host;		/* DRAIN HOST value, RESUME HOST value */
	bool is_user;		/* FORGET USER value */
	bool persist;		/* SET PERSIST */
	unsigned params;	/* how many parameters it takes */
	struct show_query show;	/* SHOW and SELECT */
};

enum admin_parse_result {
	ADMIN_PARSE_OK,
	ADMIN_PARSE_INVALID,	/* invalid command '...', use SHOW HELP; */
	ADMIN_PARSE_TOO_LONG,	/* bad arguments */
};

/* params: of a prepared statement; NULL for one that can't have any. */
enum admin_parse_result admin_parse(const char *query,
    const struct admin_params *params, struct admin_command *out);

#endif
