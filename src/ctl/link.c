/* link.c - a connection to the console.
 * SPDX-License-Identifier: ISC */
#include "ctl/link.h"

#include <errno.h>
#include <limits.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/place.h"
#include "ctl/terminal.h"

#define CONNECT_TIMEOUT (15 * USEC)
#define NO_FILE "/dev/null/none"	/* nothing can be there */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- waiting --- */

enum waited { WAITED, TIMED_OUT, INTERRUPTED };

/* For the connection's socket, until end (0: for ever). */
static enum waited wait_for(const struct link *l, short events, usec_t end)
{
	struct pollfd p[] = {
		{ .fd = PQsocket(l->conn), .events = events },
		{ .fd = l->interrupt, .events = POLLIN },
	};
	const usec_t left = end == 0 ? 0 : end - time_precise();

	if (end != 0 && left <= 0)
		return TIMED_OUT;
	const int n = poll(p, 2, end == 0 ? -1 : (int)(left / 1000) + 1);
	if (n > 0 && p[1].revents != 0)
		return INTERRUPTED;
	return n == 0 ? TIMED_OUT : WAITED;
}

/* --- where the console is --- */

/* In this order: our own, and that of the package pgsluice-pgbouncer. */
static const char *const usual[] = {
	"/etc/pgsluice/pgsluice.ini", "/etc/pgbouncer/pgbouncer.ini",
};

static const char *environment(const char *name)
{
	const char *const value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* May anyone write to this folder, or to one above it? Cuts path. */
static bool is_shared(char *path)
{
	struct stat st;

	for (;;) {
		char *const slash = strrchr(path, '/');

		if (stat(path, &st) != 0 || (st.st_mode & S_IWOTH) != 0)
			return true;
		if (slash == NULL || strcmp(path, "/") == 0)
			return false;
		slash[slash == path] = '\0';
	}
}

static int find_socket(const char *path, struct place_socket *s)
{
	char as_named[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return -1;
	const struct passwd *const who = getpwuid(st.st_uid);

	*s = (struct place_socket){ .uid = st.st_uid };
	if (who != NULL)
		text_copy(s->owner, sizeof(s->owner), who->pw_name);
	text_copy(as_named, sizeof(as_named), path);
	*strrchr(as_named, '/') = '\0';
	/* a link leads to a folder that may be elsewhere */
	s->shared = realpath(as_named, real) == NULL || is_shared(real) ||
	    is_shared(as_named);
	return 0;
}

/* libpq's words, without the line ends behind them. Returns -1. */
static int take_words(struct err *e, const char *why)
{
	size_t len = strlen(why);

	while (len > 0 && why[len - 1] == '\n')
		len--;
	return err_set(e, ERRCODE_CONNECTION_EXCEPTION, "%.*s", (int)len, why);
}

/* Take conninfo's parameters, which come before all else. */
static int take_conninfo(struct place *p, const char *conninfo, struct err *e)
{
	char *why = NULL;
	int rc = 0;

	if (conninfo == NULL)
		return 0;
	PQconninfoOption *const options = PQconninfoParse(conninfo, &why);
	if (options == NULL) {
		take_words(e, why != NULL ? why : "out of memory");
		PQfreemem(why);
		return -1;
	}
	for (size_t i = 0; options[i].keyword != NULL; i++) {
		if (place_default(p, options[i].keyword, options[i].val) != 0)
			rc = err_nomem(e);
	}
	PQconninfoFree(options);
	return rc;
}

static uid_t uid_of(const char *name)
{
	const struct passwd *const who = name != NULL ? getpwnam(name) : NULL;

	return who != NULL ? who->pw_uid : (uid_t)-1;
}

static bool address_answers(const struct settings *s)
{
	const struct place_facts f = { .ini = s, .given = true };
	struct place p = { .count = 0 };
	struct err e;
	bool answers = false;

	if (place_find(&p, &f, &e) == 0 &&
	    place_default(&p, "connect_timeout", "2") == 0) {
		const PGPing how = PQpingParams((const char *const *)p.keys,
		    (const char *const *)p.values, 0);

		answers = how == PQPING_OK || how == PQPING_REJECT;
	}
	place_fini(&p);
	return answers;
}

/* The file that a pooler of this ini writes its log to; "": none, or syslog. */
static void note_log(struct link *l, const struct settings *s)
{
	if (s->logfile != NULL)
		text_copy(l->log, sizeof(l->log), s->logfile);
}

/* The ini that was named, or the usual one, in s; f->ini: there is one. */
static int take_ini(struct place_facts *f, const char *named,
    struct settings *s, struct err *e)
{
	const char *const path = named != NULL ? named :
	    usual_choose(usual, COUNT(usual), address_answers);
	struct stat st;

	if (path == NULL)
		return 0;
	if (place_read(path, s, e) == 0) {
		f->ini = s;
		f->keeper = uid_of(s->user);
		f->author = stat(path, &st) == 0 ? st.st_uid : (uid_t)-1;
		return 0;
	}
	if (named == NULL)
		text_copy(e->text + strlen(e->text), sizeof(e->text) -
		    strlen(e->text), "\nSay where the console is by --config,"
		    " --dbname or PGHOST and PGPORT, or be the user that "
		    "pgsluice runs as.");
	return -1;
}

int link_init(struct link *l, const struct ctl_options *o, struct err *e)
{
	const struct passwd *const who = getpwuid(geteuid());
	char *const os_user = who != NULL ? mem_strdup(who->pw_name) : NULL;
	struct settings set = { 0 };
	struct place_facts f = {
		.given = o->config != NULL,
		.user = o->user,
		.os_user = os_user,
		.uid = geteuid(),
		.keeper = (uid_t)-1,
		.author = (uid_t)-1,
		.env = environment,
		.socket = find_socket,
	};
	int rc = -1;

	l->interrupt = -1;
	l->patience = LINK_TIMEOUT;
	if (take_conninfo(&l->place, o->conninfo, e) == 0 &&
	    ((!f.given && place_is_named(&l->place, environment)) ||
	    take_ini(&f, o->config, &set, e) == 0))
		rc = place_find(&l->place, &f, e);
	if (f.ini != NULL)
		note_log(l, f.ini);
	mem_free(os_user);
	settings_fini(&set);
	return rc;
}

void link_fini(struct link *l)
{
	PQfinish(l->conn);
	l->conn = NULL;
	place_fini(&l->place);
}

const char *link_where(const struct link *l, char *buf, size_t size)
{
	const char *const host = PQhost(l->conn), *const port = PQport(l->conn);

	snprintf(buf, size, "%s:%s", host != NULL ? host : "",
	    port != NULL ? port : "");
	return buf;
}

long link_pid(const struct link *l)
{
	struct os_peer who;

	return os_peer_get(PQsocket(l->conn), &who) == 0 && who.pid > 0 ?
	    who.pid : 0;
}

/* --- connecting --- */

/* Print a notice of the server. */
static void on_notice(void *arg, const PGresult *res)
{
	const struct link *const l = arg;
	FILE *const out = l->notices != NULL ? l->notices : stderr;
	static const char fields[] = { PG_DIAG_MESSAGE_PRIMARY,
		PG_DIAG_MESSAGE_DETAIL, PG_DIAG_MESSAGE_HINT };

	for (size_t i = 0; i < COUNT(fields); i++) {
		const char *const text = PQresultErrorField(res, fields[i]);

		if (text == NULL)
			continue;
		printable_lines(out, text);
		putc('\n', out);
	}
}

int link_start(struct link *l, struct err *e)
{
	static const struct {
		const char *key, *value;
	} more[] = {
		{ "fallback_application_name", "pgsluicectl" },
		{ "client_encoding", "UTF8" },
	};

	for (size_t i = 0; i < COUNT(more); i++) {
		if (place_default(&l->place, more[i].key, more[i].value) != 0)
			return err_nomem(e);
	}
	/* over its own socket the pooler lets in processes of its own user */
	if (l->place.own && place_default(&l->place, "passfile", NO_FILE) != 0)
		return err_nomem(e);
	if (l->place.own)
		unsetenv("PGPASSWORD");
	if (l->place.as != (uid_t)-1 && seteuid(l->place.as) != 0)
		return err_set(e, ERRCODE_IO_ERROR, "could not become user "
		    "%u: %s", (unsigned)l->place.as, strerror(errno));
	l->conn = PQconnectStartParams((const char *const *)l->place.keys,
	    (const char *const *)l->place.values, 0);
	if (l->place.as != (uid_t)-1 && seteuid(getuid()) != 0)
		abort();
	if (l->conn == NULL)
		return err_nomem(e);
	PQsetNoticeReceiver(l->conn, on_notice, l);
	return PQstatus(l->conn) == CONNECTION_BAD ? link_failure(l, e) : 0;
}

int link_failure(const struct link *l, struct err *e)
{
	return take_words(e, PQerrorMessage(l->conn));
}

bool link_is_denied(const struct link *l)
{
	return l->conn != NULL && (PQconnectionNeedsPassword(l->conn) ||
	    strstr(PQerrorMessage(l->conn), "authentication failed") != NULL);
}

/* As much of connecting as goes without a question. 0, or -1 with e. */
static int try_open(struct link *l, struct err *e)
{
	const usec_t end = time_precise() + CONNECT_TIMEOUT;
	PostgresPollingStatusType step = PGRES_POLLING_WRITING;

	PQfinish(l->conn);
	l->conn = NULL;
	if (link_start(l, e) != 0)
		return -1;
	while (step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED) {
		const short events = step == PGRES_POLLING_READING ? POLLIN :
		    POLLOUT;

		if (wait_for(l, events, end) != WAITED)
			return err_set(e, ERRCODE_CONNECTION_EXCEPTION,
			    "no answer from the console while connecting");
		step = PQconnectPoll(l->conn);
	}
	return step == PGRES_POLLING_OK ? 0 : link_failure(l, e);
}

/* Nobody listens: the log may tell why. Returns -1. */
static int say_log(const struct link *l, struct err *e)
{
	const size_t len = strlen(e->text);

	if (l->log[0] != '\0' && !link_is_denied(l))
		snprintf(e->text + len, sizeof(e->text) - len,
		    "\nThe log of the pooler is %s.", l->log);
	return -1;
}

int link_open(struct link *l, struct err *e)
{
	char prompt[256];

	if (try_open(l, e) == 0)
		return 0;
	if (l->conn == NULL || !PQconnectionNeedsPassword(l->conn))
		return say_log(l, e);
	if (l->place.own)
		return err_set(e, ERRCODE_CONNECTION_EXCEPTION,
		    "the console at %s wants a password over its own socket, "
		    "where it needs none: none was sent",
		    link_where(l, prompt, sizeof(prompt)));
	if (!isatty(STDIN_FILENO))
		return -1;
	snprintf(prompt, sizeof(prompt), "Password of %s: ", PQuser(l->conn));
	char *const password = password_ask(prompt, NULL, e);

	if (password == NULL)
		return -1;
	const int rc = place_default(&l->place, "password", password);
	secret_free(password);
	return rc == 0 ? try_open(l, e) : err_nomem(e);
}

/* --- asking --- */

int link_complaint(const PGresult *res, struct err *e)
{
	static const struct {
		int field;
		const char *before;
	} parts[] = {
		{ PG_DIAG_MESSAGE_PRIMARY, "" },
		{ PG_DIAG_MESSAGE_DETAIL, "\n" },
		{ PG_DIAG_MESSAGE_HINT, "\n" },
	};
	const char *const code = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	char text[sizeof(e->text)];
	struct text t;

	text_init(&t, text, sizeof(text));
	for (size_t i = 0; i < COUNT(parts); i++) {
		const char *const part = PQresultErrorField(res,
		    parts[i].field);

		if (part != NULL)
			text_addf(&t, "%s%s", parts[i].before, part);
	}
	return err_set(e, code != NULL ? code : ERRCODE_CONNECTION_EXCEPTION,
	    "%s", t.len > 0 ? text : PQresultErrorMessage(res));
}

/* Once; the query's answer or error still comes. */
static void cancel(const struct link *l)
{
	PGcancel *const c = PQgetCancel(l->conn);
	char why[256];

	if (c != NULL)
		(void)PQcancel(c, why, sizeof(why));
	PQfreeCancel(c);
}

/* All of the answer has come: LINK_OK; or LINK_LOST with e. */
static enum link_end await(struct link *l, usec_t end, struct err *e)
{
	while (PQisBusy(l->conn)) {
		const enum waited how = wait_for(l, POLLIN, end);

		if (how == TIMED_OUT) {
			err_set(e, ERRCODE_CONNECTION_EXCEPTION,
			    "the console does not answer");
			return LINK_LOST;
		}
		if (how == INTERRUPTED) {
			cancel(l);
			l->interrupt = -1;
		}
		if (!PQconsumeInput(l->conn)) {
			link_failure(l, e);
			return LINK_LOST;
		}
	}
	return LINK_OK;
}

/* The answer that counts is the first; the rest is taken off the line. */
static enum link_end collect(struct link *l, usec_t end, PGresult **res,
    struct err *e)
{
	for (;;) {
		if (await(l, end, e) != LINK_OK)
			return LINK_LOST;
		PGresult *const r = PQgetResult(l->conn);

		if (r == NULL)
			return LINK_OK;
		if (*res == NULL)
			*res = r;
		else
			PQclear(r);
	}
}

enum link_end link_query(struct link *l, const char *sql, PGresult **res,
    struct err *e)
{
	const usec_t end = l->patience == 0 ? 0 :
	    time_precise() + l->patience;
	enum link_end how = LINK_LOST;

	*res = NULL;
	if (!PQsendQuery(l->conn, sql))
		link_failure(l, e);
	else
		how = collect(l, end, res, e);
	if (*res != NULL && PQresultStatus(*res) == PGRES_FATAL_ERROR) {
		link_complaint(*res, e);
		how = PQstatus(l->conn) == CONNECTION_OK ? LINK_REFUSED :
		    LINK_LOST;
	}
	if (how == LINK_OK)
		return LINK_OK;
	PQclear(*res);
	*res = NULL;
	return how;
}

/* --- grids --- */

/* int2, int4, int8, numeric */
static bool is_numeric(Oid type)
{
	return type == 21 || type == 23 || type == 20 || type == 1700;
}

int link_take(struct grid *g, PGresult *res, struct err *e)
{
	const size_t columns = (size_t)PQnfields(res);
	const size_t rows = (size_t)PQntuples(res);

	if (grid_init(g, columns, rows) != 0) {
		PQclear(res);
		return err_nomem(e);
	}
	for (size_t c = 0; c < columns; c++) {
		g->names[c] = PQfname(res, (int)c);
		g->numeric[c] = is_numeric(PQftype(res, (int)c));
	}
	for (size_t i = 0; i < rows * columns; i++) {
		const int r = (int)(i / columns), c = (int)(i % columns);

		g->cells[i] = PQgetisnull(res, r, c) ? NULL :
		    PQgetvalue(res, r, c);
	}
	g->source = res;
	return 0;
}

void link_give_back(struct grid *g)
{
	PQclear(g->source);
	grid_fini(g);
}

enum link_end link_ask(struct link *l, const char *sql, struct grid *g,
    struct err *e)
{
	PGresult *res;
	const enum link_end how = link_query(l, sql, &res, e);

	if (how != LINK_OK)
		return how;
	return link_take(g, res, e) == 0 ? LINK_OK : LINK_LOST;
}
