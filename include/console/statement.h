/* statement.h - a query text of the console, understood.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_STATEMENT_H
#define CONSOLE_STATEMENT_H

#include <stddef.h>

#include "console/admin_parse.h"
#include "console/driver_query.h"
#include "console/selection.h"

struct command;
struct err;
struct text;

enum statement_kind {
	STATEMENT_EMPTY,	/* nothing, not even blanks that mean a command */
	STATEMENT_HELP,		/* SHOW HELP */
	STATEMENT_SHOW,		/* a view */
	STATEMENT_COMMAND,
	STATEMENT_DRIVER_QUERY,	/* what drivers ask */
};

struct statement {
	enum statement_kind kind;
	struct shape shape;	/* of its rows; count 0 = it gives none */
	struct admin_command cmd;
	const struct command *row;	/* COMMAND */
	struct selection show;	/* SHOW */
	struct driver_query answer;	/* DRIVER_QUERY */
	size_t length;		/* DRIVER_QUERY: bytes of the query it took */
};

struct statement_source {
	const char *query;
	const struct admin_params *params;	/* NULL = it came as Query */
	const struct asker *who;
};

/*
 * Understand src, which must outlive the statement. That is 40 kB, most of it
 * room for the texts of an answer, so it lives on the heap.
 * Returns: NULL with e for the console.
 */
struct statement *statement_new(const struct statement_source *src,
    struct err *e);
void statement_free(struct statement **st);
/* The same in the room of another one. 0, or -1 with e. */
int statement_make(struct statement *st, const struct statement_source *src,
    struct err *e);

/* Of CommandComplete. */
const char *statement_tag(const struct statement *st);

/* The types of its parameters, up to st->cmd.params of them. */
void statement_param_types(const struct statement *st,
    uint32_t oids[ADMIN_PARAMS_MAX]);

#endif
