/* import.c - users and secrets of a PostgreSQL server.
 * SPDX-License-Identifier: ISC */
#include "ctl/import.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "ctl/password.h"
#include "ctl/printable.h"

/* An expired password would let in a user here that the server refuses. */
#define SELECT_FROM(relation, name, secret, until) \
	"SELECT " name ", " secret ", coalesce(" until \
	" OPERATOR(pg_catalog.<) pg_catalog.now(), false) FROM pg_catalog." \
	relation " WHERE " secret " IS NOT NULL"

/* Superusers read the first; the second some services let others read. */
static const char *const queries[] = {
	SELECT_FROM("pg_authid", "rolname", "rolpassword", "rolvaliduntil")
	    " AND rolcanlogin ORDER BY 1",
	SELECT_FROM("pg_shadow", "usename", "passwd", "valuntil")
	    " ORDER BY 1",
};

/* The server's or the library's words, without the line ends behind them. */
static int failed(struct err *e, const char *what, const char *why)
{
	size_t len = strlen(why);

	while (len > 0 && why[len - 1] == '\n')
		len--;
	return err_set(e, ERRCODE_CONNECTION_EXCEPTION, "%s: %.*s", what,
	    (int)len, why);
}

static PGconn *connect_with(const char *conninfo, const char *password)
{
	const char *const keys[] = {
		"dbname", "password", "fallback_application_name", NULL,
	};
	const char *const values[] = {
		conninfo, password, "pgsluicectl", NULL,
	};
	/* without a password of ours, one in conninfo must stay */
	const char *const no_password_keys[] = {
		"dbname", "fallback_application_name", NULL,
	};
	const char *const no_password_values[] = {
		conninfo, "pgsluicectl", NULL,
	};

	return password != NULL ? PQconnectdbParams(keys, values, 1) :
	    PQconnectdbParams(no_password_keys, no_password_values, 1);
}

/* Ask for a password where the server wants one. NULL with e. */
static PGconn *connect_to(const char *conninfo, struct err *e)
{
	PGconn *conn = connect_with(conninfo, NULL);

	if (conn != NULL && PQstatus(conn) == CONNECTION_BAD &&
	    PQconnectionNeedsPassword(conn)) {
		char *const password = password_ask("Password: ", NULL, e);

		PQfinish(conn);
		if (password == NULL)
			return NULL;
		conn = connect_with(conninfo, password);
		secret_free(password);
	}
	if (conn != NULL && PQstatus(conn) == CONNECTION_OK)
		return conn;
	if (conn == NULL)
		err_nomem(e);
	else
		failed(e, "could not connect", PQerrorMessage(conn));
	PQfinish(conn);
	return NULL;
}

static bool is_refused(const PGresult *res)
{
	const char *const code = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	return code != NULL && strcmp(code,
	    ERRCODE_INSUFFICIENT_PRIVILEGE) == 0;
}

/* The users, from what may be read. NULL with e. */
static PGresult *fetch(PGconn *conn, struct err *e)
{
	PGresult *res = NULL;

	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		PQclear(res);
		res = PQexec(conn, queries[i]);
		if (PQresultStatus(res) == PGRES_TUPLES_OK)
			return res;
		if (!is_refused(res))
			break;
	}
	failed(e, "could not read the users", PQerrorMessage(conn));
	PQclear(res);
	return NULL;
}

static bool is_wanted(const struct import *im, const char *name)
{
	for (int i = 0; i < im->count; i++) {
		if (strcmp(im->names[i], name) == 0)
			return true;
	}
	return im->count == 0;
}

static void warn_of_expired(const char *name)
{
	fputs("pgsluicectl: warning: the password of \"", stderr);
	printable_put(stderr, name);
	fputs("\" has expired, left out\n", stderr);
}

static int put_all(const struct import *im, const PGresult *res, void *arg,
    struct err *e)
{
	for (int i = 0; i < PQntuples(res); i++) {
		const char *const name = PQgetvalue(res, i, 0);

		if (!is_wanted(im, name))
			continue;
		if (PQgetvalue(res, i, 2)[0] == 't')
			warn_of_expired(name);
		else if (im->put(arg, name, PQgetvalue(res, i, 1), e) != 0)
			return err_prepend(e, "user \"%s\": ", name);
	}
	return 0;
}

/* Are all named users there? */
static int check_names(const struct import *im, const PGresult *res,
    struct err *e)
{
	for (int n = 0; n < im->count; n++) {
		int i = 0;

		while (i < PQntuples(res) &&
		    strcmp(PQgetvalue(res, i, 0), im->names[n]) != 0)
			i++;
		if (i == PQntuples(res))
			return err_set(e, ERRCODE_UNDEFINED_OBJECT,
			    "the server has no user \"%s\" with a password",
			    im->names[n]);
	}
	return 0;
}

int import_run(const struct import *im, void *arg, struct err *e)
{
	PGconn *const conn = connect_to(im->conninfo, e);
	PGresult *const res = conn == NULL ? NULL : fetch(conn, e);
	int rc = -1;

	if (res != NULL && check_names(im, res, e) == 0)
		rc = put_all(im, res, arg, e);
	PQclear(res);
	PQfinish(conn);
	return rc;
}
