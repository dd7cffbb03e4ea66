/* console_extended.h - the extended query protocol on the console.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_CONSOLE_EXTENDED_H
#define CONSOLE_CONSOLE_EXTENDED_H

#include "base/hash.h"
#include "console/console.h"
#include "console/statement.h"
#include "console/table.h"

struct reader;

struct console_prepared {
	UT_hash_handle hh;
	char *name, *query;			/* owned */
	uint32_t types[ADMIN_PARAMS_MAX];	/* as described */
	unsigned params;
};

struct console_portal {
	UT_hash_handle hh;
	char *name, *query;			/* owned */
	char *values[ADMIN_PARAMS_MAX];		/* owned */
	unsigned params;
	bool binary[SHOW_COLUMNS_MAX];		/* of each column */
	struct rowset rows;	/* fetched in pieces */
	size_t next;		/* ... and the row to go on with */
	bool started;		/* rows are there */
	bool done;
};

/* Tell e, and skip to Sync. May close the client. */
void extended_refuse(struct console *k, const struct err *e);
void extended_bad_message(struct console *k, const char *what);
/*
 * A statement of a text that must be one; the asker is filled in.
 * statement_free() it; NULL with e.
 */
struct statement *extended_make(struct console *k,
    const struct statement_source *src, struct err *e);

/* By name; NULL: none, which drop takes as well. */
struct console_prepared *prepared_find(struct console *k, const char *name);
void prepared_drop(struct console *k, struct console_prepared *ps);
/* The statement of ps, while the parameters are not known; NULL with e. */
struct statement *prepared_make(struct console *k,
    const struct console_prepared *ps, struct err *e);

struct console_portal *portal_find(struct console *k, const char *name);
void portal_drop(struct console *k, struct console_portal *p);
/* One that is in no table. */
void portal_free(struct console_portal *p);
/* The statement of p, with the values of its parameters; NULL with e. */
struct statement *portal_make(struct console *k,
    const struct console_portal *p, struct err *e);

/* The rest of Bind: values, formats. 0, or -1: refused. */
int portal_read(struct console *k, struct console_portal *p,
    const struct console_prepared *ps, struct reader *body);

#endif
