/* orders_run.c - pgsluicectl pause, resume, reload, drain, shutdown.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/leave.h"
#include "ctl/link.h"
#include "ctl/orders.h"

#define ORDER_MAX 1024

/* From now on Ctrl-C is told by a descriptor, so that a wait is called off. */
static int catch_interrupt(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGINT);
	if (sigprocmask(SIG_BLOCK, &s, NULL) != 0)
		return -1;
	return signalfd(-1, &s, SFD_CLOEXEC | SFD_NONBLOCK);
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

	if (how == LINK_OK)
		PQclear(res);
	l->interrupt = -1;
	if (fd >= 0)
		close(fd);
	if (how == LINK_OK)
		return CTL_OK;
	return how == LINK_REFUSED ? ctl_fail("%s", e.text) :
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

static int give(const struct ctl_options *o, const char *verb, int argc,
    char **argv)
{
	struct link l = { .conn = NULL };
	char sql[ORDER_MAX];
	struct text t;
	struct err e = { .text = "" };
	int rc;

	text_init(&t, sql, sizeof(sql));
	const enum order_end end = orders_compose(verb, argc, argv, &t);

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

static int run_pause(const struct ctl_options *o, int argc, char **argv)
{
	return give(o, "pause", argc, argv);
}

static int run_resume(const struct ctl_options *o, int argc, char **argv)
{
	return give(o, "resume", argc, argv);
}

static int run_reload(const struct ctl_options *o, int argc, char **argv)
{
	return give(o, "reload", argc, argv);
}

static int run_drain(const struct ctl_options *o, int argc, char **argv)
{
	return give(o, "drain", argc, argv);
}

static int run_shutdown(const struct ctl_options *o, int argc, char **argv)
{
	return give(o, "shutdown", argc, argv);
}

const struct ctl_command *order_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "pause", NULL, "[DATABASE]",
		    "stop assigning servers, and wait until all have been released",
		    0, 1, run_pause, TAKES_PLACE },
		{ "resume", NULL, "[DATABASE | host HOST]",
		    "undo pause and drain", 0, 2, run_resume, TAKES_PLACE },
		{ "reload", NULL, "", "read the configuration again",
		    0, 0, run_reload, TAKES_PLACE },
		{ "drain", NULL, "[SECONDS]",
		    "let clients end their work, end the process, and wait "
		    "for that", 0, 2, run_drain, TAKES_PLACE },
		{ "drain", NULL, "DATABASE | host HOST",
		    "stop assigning its servers, without waiting",
		    1, 2, run_drain, TAKES_PLACE },
		{ "shutdown", NULL, "[wait_for_servers | wait_for_clients]",
		    "end the process, and wait for that",
		    0, 2, run_shutdown, TAKES_PLACE },
		{ .group = NULL },
	};

	return commands;
}
