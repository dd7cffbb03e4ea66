/* answer.h - what drivers ask any PostgreSQL about itself, and what we say.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_ANSWER_H
#define CONSOLE_ANSWER_H

#include <stdint.h>

#include "conf/options.h"
#include "console/table.h"

#define ANSWER_COLUMNS 32
#define ANSWER_QUERY_MAX 16384	/* bytes of a query that is looked at */

/* Who asks. */
struct asker {
	const char *user;
	const char *application_name;
	int64_t id;
	enum console_version version;	/* that they are shown */
};

struct answer {
	const char *tag;	/* of CommandComplete; NULL: the query is empty */
	const char *notice;	/* or NULL */
	const char *forget;	/* prepared statement to drop, "" = all; NULL */
	struct column columns[ANSWER_COLUMNS];
	size_t count;		/* of columns; 0 = no result set */
	struct cell cells[ANSWER_COLUMNS];	/* its only row ... */
	bool empty;		/* ... or there is none */
	bool types;		/* or one for each type: answer_types() */
	size_t used;		/* of text */
	char text[2 * ANSWER_QUERY_MAX];	/* what others point to */
};

/*
 * Answer the first statement of query, which may hold several.
 * Returns: how many bytes it took, its semicolon and blanks included; 0: it is
 *          none of those that have an answer.
 */
size_t answer_find(const char *query, const struct asker *who,
    struct answer *out);

/* The rows of an answer. */
void answer_rows(const struct answer *a, struct row_sink *sink);

/* One of PostgreSQL's settings: its value for who, or NULL. */
const char *answer_setting(const char *name, const struct asker *who);

#endif
