/* admin_parse.h - the console's grammar: one command a message.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_ADMIN_PARSE_H
#define CONSOLE_ADMIN_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/admin_lex.h"

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
