/* params_sql.h - a tracked parameter's value as SQL.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PARAMS_SQL_H
#define PROTO_PARAMS_SQL_H

#include <stdbool.h>

struct writer;

/* How the server will read the SQL. */
struct params_dialect {
	bool standard;		/* standard_conforming_strings is on, surely */
	const char *encoding;	/* the server's; NULL: not known */
	bool open;		/* a transaction is, and a SELECT may be its first
				 * query, which no SET TRANSACTION may follow */
};

/*
 * Is value a list of identifiers as PostgreSQL reads a search_path that stands
 * in a StartupMessage (SplitIdentifierString())? It refuses others.
 */
bool params_sql_is_list(const char *value);
/*
 * Write "SET name=value;", or what SELECTs set_config(), of which no value makes
 * anything else. SHOW then has a search_path by byte as a StartupMessage with value
 * makes it, except in an open transaction.
 */
void params_sql_set(struct writer *w, const char *name, const char *value,
    const struct params_dialect *d);

#endif
