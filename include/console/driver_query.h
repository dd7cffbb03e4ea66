/* driver_query.h - questions of drivers about a PostgreSQL, and our answers.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_DRIVER_QUERY_H
#define CONSOLE_DRIVER_QUERY_H

#include <stdint.h>

#include "conf/options.h"
#include "console/table.h"

#define DRIVER_QUERY_COLUMNS 32
#define DRIVER_QUERY_MAX 16384	/* bytes of a query that is looked at */

/* The client that asks. */
struct asker {
	const char *user;
	const char *application_name;
	int64_t id;
	enum console_version version;	/* that they are shown */
	usec_t born;			/* when this process began: wall clock */
};

struct driver_query {
	const char *tag;	/* of CommandComplete; NULL: the query is empty */
	const char *notice;	/* or NULL */
	const char *forget;	/* prepared statement to drop, "" = all; NULL */
	struct column columns[DRIVER_QUERY_COLUMNS];
	size_t count;		/* of columns; 0 = no result set */
	struct cell cells[DRIVER_QUERY_COLUMNS];	/* its only row ... */
	bool empty;		/* ... or there is none */
	bool types;		/* or one for each type: driver_query_types() */
	size_t used;		/* of text */
	char text[2 * DRIVER_QUERY_MAX];	/* what others point to */
};

/*
 * Answer the first statement of query, which may hold several.
 * Returns: how many bytes it took, its semicolon and blanks included; 0: it is
 *          none of those that have an answer.
 */
size_t driver_query_find(const char *query, const struct asker *who,
    struct driver_query *out);

/* The rows of an answer. */
void driver_query_rows(const struct driver_query *a, struct row_sink *sink);

/* One of PostgreSQL's settings: its value for who, or NULL. */
const char *driver_query_setting(const char *name, const struct asker *who);

/* What we call ourselves towards clients. */

/*
 * The PostgreSQL whose behaviour drivers may count on, as far as a number can
 * tell it.
 */
#define POSTGRESQL_VERSION "15.0"
#define POSTGRESQL_VERSION_NUM "150000"

/* As console_version says. (spec/config-files.md section 22) */
struct version {
	const char *text;	/* monitoring reads its first two words */
	const char *server;	/* the console's server_version */
	const char *product;	/* its version() */
};

const struct version *version_of(enum console_version v);

#endif
