/* wait_ready.c - pgsluicectl wait-ready: until clients may come.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>

#include "base/err.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/link.h"
#include "ctl/summary.h"
#include "ctl/terminal.h"

#define TIMEOUT (60 * USEC)
#define AGAIN (USEC / 10)

/*
 * As if it were the first time: the Unix socket, over which no password is
 * needed, may have come into being since.
 */
static int connect_anew(struct link *l, const struct ctl_options *o,
    struct err *e)
{
	link_fini(l);
	*l = (struct link){ .conn = NULL };
	return link_init(l, o, e) != 0 ? -1 : link_open(l, e);
}

/* The exit code so far; why, in e. */
static int look(struct link *l, const struct ctl_options *o, struct err *e)
{
	struct grid state;
	struct summary s = { .uptime = -1 };

	if ((l->conn == NULL || PQstatus(l->conn) != CONNECTION_OK) &&
	    connect_anew(l, o, e) != 0)
		return CTL_UNREACHABLE;
	if (link_ask(l, "SHOW STATE", &state, e) != LINK_OK)
		return CTL_UNREACHABLE;
	summary_state(&s, &state);
	link_give_back(&state);
	if (summary_is_active(&s))
		return CTL_OK;
	err_set(e, ERRCODE_CONNECTION_EXCEPTION, "not ready: %s",
	    summary_word(&s));
	return CTL_UNHEALTHY;
}

static int wait_for(struct link *l, const struct ctl_options *o)
{
	const usec_t end = time_precise() +
	    (o->timeout > 0 ? o->timeout : TIMEOUT);
	struct err e = { .text = "" };
	int rc, denied = 0;

	do {
		rc = look(l, o, &e);
		if (rc == CTL_OK)
			return rc;
		/* once by TCP while the socket was not there is no answer */
		if (rc == CTL_UNREACHABLE && link_is_denied(l) && ++denied > 1)
			return ctl_unreachable("%s", e.text);
	} while (time_precise() + AGAIN < end &&
	    !terminal_rest(AGAIN, -1, 0));
	ctl_fail("%s", e.text);
	return rc;
}

static int wait_ready(const struct ctl_options *o, int argc, char **argv)
{
	struct link l = { .conn = NULL };
	struct err e = { .text = "" };
	const int rc = link_init(&l, o, &e) != 0 ? ctl_fail("%s", e.text) :
	    wait_for(&l, o);

	(void)argc;
	(void)argv;
	link_fini(&l);
	return rc;
}

const struct ctl_command *wait_ready_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "wait-ready", NULL, "",
		    "wait until the console answers and nothing is paused",
		    0, 0, wait_ready, TAKES_PLACE | TAKES_TIMEOUT },
		{ .group = NULL },
	};

	return commands;
}
