/* orders.c - orders to the console: pause, drain, reload, kill, set.
 * SPDX-License-Identifier: ISC */
#include "ctl/orders.h"

#include <libpq-fe.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/os.h"
#include "base/num.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/leave.h"
#include "ctl/link.h"
#include "ctl/terminal.h"

static bool is_word(const char *s)
{
	static const char plain[] = "0123456789_"
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return s[0] != '\0' && s[strspn(s, plain)] == '\0';
}

static void add_quoted(struct text *t, const char *s, char quote)
{
	text_addf(t, "%c", quote);
	for (; *s != '\0'; s++) {
		if (*s == quote)
			text_addf(t, "%c", quote);
		text_add_bytes(t, s, 1);
	}
	text_addf(t, "%c", quote);
}

static void add_word(struct text *t, const char *s)
{
	text_add(t, " ");
	if (is_word(s))
		text_add(t, s);
	else
		add_quoted(t, s, '"');
}

/* PAUSE "my db", DRAIN HOST 'db1.example.com', SHUTDOWN WAIT_FOR_CLIENTS */
static void add_words(struct text *t, int argc, char **argv)
{
	const bool host = argc == 2 && text_casecmp(argv[0], "host") == 0;

	if (host) {
		text_add(t, " HOST ");
		add_quoted(t, argv[1], '\'');
		return;
	}
	for (int i = 0; i < argc; i++)
		add_word(t, argv[i]);
}

/* SET PERSIST default_pool_size = '30': the value may hold anything. */
static void add_setting(struct text *t, int argc, char **argv)
{
	if (argc == 3)
		add_word(t, argv[0]);
	add_word(t, argv[argc - 2]);
	text_add(t, " = ");
	add_quoted(t, argv[argc - 1], '\'');
}

/* The command, or its text, as it was typed. */
static void add_text(struct text *t, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		text_addf(t, "%s%s", t->len > 0 ? " " : "", argv[i]);
}

/* Verbs whose arguments are not just words. */
static const struct form {
	const char *verb;
	void (*add)(struct text *t, int argc, char **argv);
} forms[] = {
	{ "set", add_setting },
	{ "log", add_text },
	{ "do", add_text },
};

static void add_arguments(struct text *t, const char *verb, int argc,
    char **argv)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (strcmp(forms[i].verb, verb) == 0) {
			forms[i].add(t, argc, argv);
			return;
		}
	}
	add_words(t, argc, argv);
}

/* kill-client: KILL_CLIENT */
static void add_verb(struct text *t, const char *verb)
{
	for (const char *s = verb; *s != '\0'; s++)
		text_addf(t, "%c", *s == '-' ? '_' : *s - 'a' + 'A');
}

/* A time, not the name of a database: s begins with a digit. */
static bool is_time(const char *s)
{
	usec_t time;

	return s[0] >= '0' && s[0] <= '9' && num_parse_usec(s, &time) == 0;
}

/* Does the command begin with this word? Returns what follows; or NULL. */
static const char *behind(const char *sql, const char *word)
{
	static const char ends[] = " \t\r\n;";
	char first[32];
	struct text t;

	sql += strspn(sql, ends);
	text_init(&t, first, sizeof(first));
	text_add_bytes(&t, sql, strcspn(sql, ends));
	return text_casecmp(first, word) == 0 ? sql + t.len : NULL;
}

static enum order_end end_of(const char *sql)
{
	const char *const how = behind(sql, "shutdown");

	if (how == NULL)
		return ORDER_GOES_ON;
	return behind(how, "wait_for_clients") != NULL ? ORDER_ENDS_ALONE :
	    ORDER_ENDS;
}

enum order_end orders_compose(const char *verb, int argc, char **argv,
    struct text *t)
{
	if (strcmp(verb, "drain") == 0 && (argc == 0 ||
	    (argc == 1 && is_time(argv[0])))) {
		text_addf(t, "SHUTDOWN DRAIN%s%s", argc > 0 ? " " : "",
		    argc > 0 ? argv[0] : "");
		return ORDER_ENDS;
	}
	if (strcmp(verb, "do") != 0)
		add_verb(t, verb);
	add_arguments(t, verb, argc, argv);
	return end_of(t->at);
}

/* What a link of /proc/PID leads to; "": nobody tells us. */
static void follow(long pid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	const ssize_t n = pid <= 0 ? -1 : readlink(path, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
}

/* A relative name counts from where the pooler stands. */
static void add_file(struct text *t, const char *file, long pid)
{
	char folder[PATH_MAX] = "";

	if (file[0] != '/')
		follow(pid, "cwd", folder, sizeof(folder));
	if (folder[0] == '/')
		text_addf(t, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
	text_add(t, file);
}

/* No file, no syslog: a service manager may read it, or it is a file. */
static void add_stderr(struct text *t, long pid)
{
	char target[PATH_MAX];

	follow(pid, "fd/2", target, sizeof(target));
	if (strcmp(target, "/dev/null") == 0)
		text_add(t, "none, see the settings logfile and syslog");
	else if (strncmp(target, "socket:", strlen("socket:")) == 0)
		text_addf(t, "the journal: journalctl _PID=%ld", pid);
	else if (target[0] == '/')
		text_add(t, target);
	else if (pid > 0)
		text_addf(t, "standard error of process %ld", pid);
	else
		text_add(t, "standard error");
}

static const char *setting(const struct grid *g, const char *key)
{
	const char *const value = grid_value(g, key);

	return value != NULL ? value : "";
}

static void add_places(struct text *t, const struct grid *config, long pid)
{
	const char *const file = setting(config, "logfile");
	const bool syslog = strcmp(setting(config, "syslog"), "1") == 0;

	if (file[0] != '\0')
		add_file(t, file, pid);
	if (syslog)
		text_addf(t, "%ssyslog as %s", file[0] != '\0' ? ", " : "",
		    setting(config, "syslog_ident"));
	if (file[0] == '\0' && !syslog)
		add_stderr(t, pid);
}

int log_place(struct link *l, char *buf, size_t size)
{
	struct grid config;
	struct err e;
	struct text t;

	text_init(&t, buf, size);
	if (PQstatus(l->conn) != CONNECTION_OK ||
	    link_ask(l, "SHOW CONFIG", &config, &e) != LINK_OK)
		return -1;
	add_places(&t, &config, link_pid(l));
	link_give_back(&config);
	return 0;
}

#define ORDER_MAX 1024

/* From now on Ctrl-C is told by a descriptor, so that a wait is called off. */
static int catch_interrupt(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGINT);
	return os_signals_open(&s);
}

/* Rows are for everyone, a word only for who looks at a terminal. */
static int print(PGresult *res)
{
	const struct sheet sheet = {
		.out = stdout,
		.columns = terminal_size().columns,
		.terminal = terminal_size().columns > 0,
		.colour = terminal_has_colour(),
	};
	struct grid g;
	struct err e;

	if (PQnfields(res) == 0 && terminal_is_out())
		printf("%s: done\n", PQcmdStatus(res));
	if (link_take(&g, res, &e) != 0)
		return ctl_fail("%s", e.text);
	if (g.columns > 0)
		sheet_table(&sheet, &g);
	link_give_back(&g);
	return ctl_flush();
}

/* The console refused it; where to read more. */
static int refused(struct link *l, const struct err *why)
{
	char log[LOG_PLACE_MAX];

	if (strstr(why->text, "see logs") == NULL ||
	    log_place(l, log, sizeof(log)) != 0)
		return ctl_fail("%s", why->text);
	return ctl_fail("%s\nThe log: %s", why->text, log);
}

/* The command may take until all servers are released. */
static int carry_out(struct link *l, const char *sql)
{
	const int fd = catch_interrupt();
	PGresult *res;
	struct err e = { .text = "" };

	l->interrupt = fd;
	l->patience = 0;
	const enum link_end how = link_query(l, sql, &res, &e);

	l->interrupt = -1;
	if (fd >= 0)
		close(fd);
	if (how == LINK_OK)
		return print(res);
	return how == LINK_REFUSED ? refused(l, &e) :
	    ctl_unreachable("%s", e.text);
}

/* The answer to SHUTDOWN may be the end of the connection. */
static int carry_out_end(struct link *l, const char *sql, bool alone)
{
	PGresult *res;
	struct err e = { .text = "" };
	struct leave *w = leave_new(l, &e);

	if (w == NULL)
		return ctl_fail("%s", e.text);
	const enum link_end how = link_query(l, sql, &res, &e);
	int rc = CTL_OK;

	if (how == LINK_OK)
		PQclear(res);
	if (how == LINK_REFUSED)
		rc = ctl_fail("%s", e.text);
	else
		leave_wait(w, alone);
	leave_free(&w);
	return rc;
}

static int give(const struct ctl_options *o, int argc, char **argv)
{
	struct link l = { .conn = NULL };
	char sql[ORDER_MAX];
	struct text t;
	struct err e = { .text = "" };
	int rc;

	text_init(&t, sql, sizeof(sql));
	const enum order_end end = orders_compose(o->verb, argc, argv, &t);

	if (t.cut)
		return ctl_fail("the argument is too long");
	if (link_init(&l, o, &e) != 0)
		rc = ctl_fail("%s", e.text);
	else if (link_open(&l, &e) != 0)
		rc = ctl_unreachable("%s", e.text);
	else
		rc = end == ORDER_GOES_ON ? carry_out(&l, sql) :
		    carry_out_end(&l, sql, end == ORDER_ENDS_ALONE);
	link_fini(&l);
	return rc;
}

const struct ctl_command *order_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "pause", NULL, "[DATABASE]",
		    "stop assigning servers, and wait until all have been released",
		    0, 1, give, TAKES_PLACE },
		{ "resume", NULL, "[DATABASE | all | host HOST]",
		    "undo pause, drain and kill", 0, 2, give, TAKES_PLACE },
		{ "reload", NULL, "", "read the configuration again; print "
		    "settings that need a restart", 0, 0, give, TAKES_PLACE },
		{ "reconnect", NULL, "[DATABASE]",
		    "replace server connections as they are released",
		    0, 1, give, TAKES_PLACE },
		{ "wait-close", NULL, "[DATABASE]",
		    "wait until reconnect has replaced all",
		    0, 1, give, TAKES_PLACE },
		{ "disable", NULL, "DATABASE", "refuse new clients",
		    1, 1, give, TAKES_PLACE },
		{ "enable", NULL, "DATABASE", "accept new clients again",
		    1, 1, give, TAKES_PLACE },
		{ "kill", NULL, "[DATABASE]", "pause, and close all connections "
		    "at once", 0, 1, give, TAKES_PLACE },
		{ "kill-client", NULL, "ID", "close a client", 1, 1, give,
		    TAKES_PLACE },
		{ "kill-server", NULL, "ID", "close a server connection",
		    1, 1, give, TAKES_PLACE },
		{ "cancel-client", NULL, "ID", "cancel what a client runs, or "
		    "end its wait", 1, 1, give, TAKES_PLACE },
		{ "set", NULL, "[persist] KEY VALUE", "change a setting until the "
		    "next reload, or permanently", 2, 3, give, TAKES_PLACE },
		{ "forget", NULL, "user NAME", "ask auth_query again for a "
		    "user", 2, 2, give, TAKES_PLACE },
		{ "log", NULL, "TEXT", "write a line to the pooler's log",
		    1, -1, give, TAKES_PLACE },
		{ "do", NULL, "COMMAND", "give the console any command of "
		    "pgsluice-admin(7)", 1, -1, give, TAKES_PLACE },
		{ "drain", NULL, "[SECONDS]",
		    "let clients end their work, end the process, and wait "
		    "for that", 0, 2, give, TAKES_PLACE },
		{ "drain", NULL, "DATABASE | host HOST",
		    "stop assigning its servers, without waiting",
		    1, 2, give, TAKES_PLACE },
		{ "shutdown", NULL, "[wait_for_servers | wait_for_clients]",
		    "end the process, and wait for that",
		    0, 2, give, TAKES_PLACE },
		{ .group = NULL },
	};

	return commands;
}
