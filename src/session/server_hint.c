/* server_hint.c - what to do about a server that does not let us in.
 * SPDX-License-Identifier: ISC */
#include "session/server_hint.h"

#include <stddef.h>
#include <string.h>

const char *server_hint(const char *sqlstate, const char *message)
{
	/* PostgreSQL docs, Appendix A. */
	static const struct {
		const char *code, *words, *hint;
	} rows[] = {
		{ "28P01", "", SERVER_HINT_SECRET },
		/* in English: without these words the general hint is given */
		{ "28000", "no encryption", "The server may want TLS from "
		    "pgsluice: set server_tls_sslmode = require, or allow its "
		    "address without TLS in pg_hba.conf." },
		{ "28000", "does not exist", "The role is that of user= in "
		    "the line of [databases], of auth_user for auth_query, or "
		    "the client's own: create it on the server." },
		{ "28000", "", "It is pgsluice that the server refuses: pg_hba.conf "
		    "there must allow its address, with this user and "
		    "database." },
		{ "3D000", "", "The name is that of dbname= in the line of "
		    "[databases], or of the database itself where there is "
		    "none." },
		{ "53300", "", "max_connections of the server is reached: let "
		    "default_pool_size, max_db_connections or "
		    "max_user_connections add up to less." },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(rows[i].code, sqlstate) == 0 &&
		    strstr(message, rows[i].words) != NULL)
			return rows[i].hint;
	}
	return NULL;
}
