/* userlist.c - the users of an auth file, and how they come from a server.
 * SPDX-License-Identifier: ISC */
#include "ctl/userlist.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "conf/userlist.h"
#include "ctl/auth_file.h"
#include "ctl/command.h"
#include "ctl/terminal.h"
#include "proto/scram_verifier.h"

/* A file that others can read gives its secrets away. */
static void warn_of_readers(const struct auth_file *f)
{
	if (f->st.st_nlink > 0 && (f->st.st_mode & 0077) != 0)
		fprintf(stderr, "pgsluicectl: warning: others than its owner "
		    "have rights on \"%s\" (mode %04o)\n", f->path,
		    (unsigned)f->st.st_mode & 07777);
}

static int save(struct auth_file *f)
{
	struct err e;

	if (auth_file_save(f, &e) != 0)
		return ctl_fail("%s", e.text);
	warn_of_readers(f);
	return CTL_OK;
}

/* --- add --- */

#define ADD_NOTE \
	"Clients log in by this secret, pgsluice to the server does not: the " \
	"line in\n[databases] needs user= and password=, or take the server's " \
	"own secret by\n\"pgsluicectl userlist import\".\n"

/* heap, secret; NULL with e */
static char *make_secret(const char *password, int iterations, struct err *e)
{
	uint8_t salt[SCRAM_SALT_BYTES];
	struct scram_verifier v;
	char *text = NULL;

	crypto_random(salt, sizeof(salt));
	if (password[0] == '\0') {
		err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "the password is empty");
		return NULL;
	}
	if (scram_verifier_derive(&v, password, salt, sizeof(salt),
	    iterations) == 0)
		text = scram_verifier_text(&v);
	secret_wipe(&v, sizeof(v));
	if (text == NULL)
		err_nomem(e);
	return text;
}

static char *ask_secret(const struct ctl_options *o, const char *name,
    struct err *e)
{
	char prompt[256];

	snprintf(prompt, sizeof(prompt), "Password of %s: ", name);
	char *const password = password_ask(prompt, "Again: ", e);
	char *const secret = password == NULL ? NULL :
	    make_secret(password, o->iterations, e);

	secret_free(password);
	return secret;
}

static int add(const struct ctl_options *o, int argc, char **argv)
{
	struct auth_file f = { .lock = -1 };
	char *secret = NULL;
	struct err e;
	int rc = CTL_FAILED;

	(void)argc;
	/* ask before the file is locked: the answer may take a while */
	if (!o->no_password) {
		secret = ask_secret(o, argv[1], &e);
		if (secret == NULL)
			return ctl_fail("%s", e.text);
	}
	if (auth_file_open(&f, argv[0], true, &e) != 0 ||
	    auth_file_put(&f, argv[1], secret != NULL ? secret : "", &e) != 0)
		ctl_fail("%s", e.text);
	else
		rc = save(&f);
	if (rc == CTL_OK && secret != NULL && isatty(STDERR_FILENO))
		fputs(ADD_NOTE, stderr);
	secret_free(secret);
	auth_file_close(&f);
	return rc;
}

/* --- remove --- */

static int remove_users(const struct ctl_options *o, int argc, char **argv)
{
	struct auth_file f = { .lock = -1 };
	struct err e;
	int rc = CTL_FAILED, found = 1, i;

	(void)o;
	if (auth_file_open(&f, argv[0], true, &e) != 0)
		found = -1;
	for (i = 1; i < argc && found == 1; i++)
		found = auth_file_remove(&f, argv[i], &e);
	if (found < 0)
		ctl_fail("%s", e.text);
	else if (found == 0)
		ctl_fail("there is no user \"%s\" in \"%s\"", argv[i - 1],
		    argv[0]);
	else
		rc = save(&f);
	auth_file_close(&f);
	return rc;
}

/* --- list --- */

/* A name may hold anything. */
static int print_user(const char *name, const char *secret, void *arg)
{
	static const char *const kinds[] = {
		[SECRET_NONE] = "none",
		[SECRET_PLAIN] = "plain",
		[SECRET_MD5] = "md5",
		[SECRET_SCRAM] = "scram-sha-256",
		[SECRET_UNUSABLE] = "unusable",
	};

	(void)arg;
	printf("%-14s", kinds[secret_kind(secret)]);
	printable_put(stdout, name);
	putchar('\n');
	return 0;
}

static int list(const struct ctl_options *o, int argc, char **argv)
{
	struct auth_file f = { .lock = -1 };
	struct err e;
	int rc = CTL_OK;

	(void)o;
	(void)argc;
	if (auth_file_open(&f, argv[0], false, &e) != 0) {
		rc = ctl_fail("%s", e.text);
	} else {
		userlist_each(f.users, print_user, NULL);
		warn_of_readers(&f);
	}
	auth_file_close(&f);
	if (rc == CTL_OK && fflush(stdout) != 0)
		rc = ctl_fail("could not write the list");
	return rc;
}

/* --- import --- */

static int put_imported(void *arg, const char *name, const char *secret,
    struct err *e)
{
	return auth_file_put(arg, name, secret, e);
}

static int import(const struct ctl_options *o, int argc, char **argv)
{
	const struct import im = {
		.conninfo = argv[0],
		.names = argv + 2,
		.count = argc - 2,
		.put = put_imported,
	};
	struct auth_file f = { .lock = -1 };
	struct err e;
	int rc = CTL_FAILED;

	(void)o;
	if (auth_file_open(&f, argv[1], true, &e) != 0 ||
	    import_run(&im, &f, &e) != 0)
		ctl_fail("%s", e.text);
	else
		rc = save(&f);
	auth_file_close(&f);
	return rc;
}

const struct ctl_command *userlist_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "userlist", "add", "FILE USER",
		    "add a user, or give one another password", 2, 2, add,
		    TAKES_SECRET },
		{ "userlist", "remove", "FILE USER...",
		    "remove users", 2, -1, remove_users, 0 },
		{ "userlist", "list", "FILE",
		    "print the users and the kinds of their secrets",
		    1, 1, list, 0 },
		{ "userlist", "import", "CONNINFO FILE [USER...]",
		    "take users and secrets over from a PostgreSQL server",
		    2, -1, import, 0 },
		{ .group = NULL },
	};

	return commands;
}

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
