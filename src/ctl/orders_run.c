/* orders_run.c - pgsluicectl pause, reload, kill and the like, set, do.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/os.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/leave.h"
#include "ctl/link.h"
#include "ctl/log_place.h"
#include "ctl/orders.h"
#include "ctl/sheet.h"
#include "ctl/terminal.h"

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
		{ "reload", NULL, "", "read the configuration again; print what "
		    "waits for a restart", 0, 0, give, TAKES_PLACE },
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
		{ "set", NULL, "[persist] KEY VALUE", "change a setting until "
		    "the next reload, or for good", 2, 3, give, TAKES_PLACE },
		{ "forget", NULL, "user NAME", "have auth_query asked anew for a "
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
