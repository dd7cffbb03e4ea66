/* backend_pid.c - for LD_PRELOAD: the server is asked for the number of its
 * process, which a pooler's client cannot know from its login.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>
#include <stdlib.h>

int
PQbackendPID(const PGconn *conn)
{
	PGresult *res = PQexec((PGconn *)conn, "SELECT pg_backend_pid()");
	int pid = PQntuples(res) == 1 ? atoi(PQgetvalue(res, 0, 0)) : 0;

	PQclear(res);
	return pid;
}
