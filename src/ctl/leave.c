/* leave.c - wait for the process at the other end: for its end, or until
 * clients may come.
 * SPDX-License-Identifier: ISC */
#include "ctl/leave.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/link.h"
#include "ctl/status.h"
#include "ctl/terminal.h"

#define LOOK (USEC / 4)		/* between two questions for its state */

struct leave {
	struct link *link;	/* borrowed */
	int process;		/* os_process_open() */
	char born[64];		/* start of the process; "": not known */
	usec_t since;
	bool shown;		/* there is a line of progress */
};

/* -1: not known. */
static int find_process(const struct link *l)
{
	return os_process_open((pid_t)link_pid(l));
}

/* The start time tells apart pooler processes that share a port, too. */
static void ask_birth(struct link *l, char born[64])
{
	struct grid g;
	struct err e;

	born[0] = '\0';
	if (link_ask(l, "SELECT pg_postmaster_start_time()", &g, &e) !=
	    LINK_OK)
		return;
	if (grid_cell(&g, 0, 0) != NULL)
		text_copy(born, 64, grid_cell(&g, 0, 0));
	link_give_back(&g);
}

struct leave *leave_new(struct link *l, struct err *e)
{
	struct leave *const w = mem_zalloc(sizeof(*w));

	if (w == NULL) {
		err_nomem(e);
		return NULL;
	}
	w->link = l;
	w->process = find_process(l);
	w->since = time_precise();
	ask_birth(l, w->born);
	return w;
}

void leave_free(struct leave **w)
{
	if (*w != NULL && (*w)->process >= 0)
		close((*w)->process);
	mem_free(*w);
	*w = NULL;
}

/* --- progress --- */

static void clear_progress(struct leave *w)
{
	if (w->shown)
		fputs("\r\033[K", stderr);
	w->shown = false;
}

/* While the pooler drains it says itself how far it is. */
static void add_state(struct text *t, const struct grid *state,
    const struct grid *lists)
{
	const char *const left = grid_value(state, "clients_left");
	const char *const seconds = grid_value(state, "seconds_left");

	if (left != NULL && seconds != NULL)
		text_addf(t, "%s clients left, %s s left", left, seconds);
	else
		text_addf(t, "%s clients, %s servers",
		    grid_value(lists, "used_clients"),
		    grid_value(lists, "used_servers"));
}

static void show_progress(struct leave *w, const struct grid *state,
    const struct grid *lists)
{
	struct terminal_size size = terminal_size();
	char full[1024], line[1024];
	struct text t;

	if (!terminal_is_err())
		return;
	text_init(&t, full, sizeof(full));
	text_addf(&t, "waiting for %lld s: ",
	    (long long)((time_precise() - w->since) / USEC));
	add_state(&t, state, lists);
	text_init(&t, line, sizeof(line));
	printable_add(&t, full, (size.columns > 0 ? size.columns : 80) - 1);
	fprintf(stderr, "\r\033[K%s", line);
	w->shown = true;
}

/* --- waiting --- */

enum sight { STILL_THERE, GONE, LOST };

static enum sight look(struct leave *w)
{
	struct grid state, lists;
	struct err e;

	if (PQstatus(w->link->conn) != CONNECTION_OK ||
	    link_ask(w->link, "SHOW STATE", &state, &e) != LINK_OK)
		return LOST;
	if (link_ask(w->link, "SHOW LISTS", &lists, &e) == LINK_OK) {
		show_progress(w, &state, &lists);
		link_give_back(&lists);
	}
	link_give_back(&state);
	return STILL_THERE;
}

static bool is_silent(const struct leave *w)
{
	const struct place *const p = &w->link->place;

	return PQpingParams((const char *const *)p->keys,
	    (const char *const *)p->values, 0) == PQPING_NO_RESPONSE;
}

/* The connection is gone; nothing else tells what became of the process. */
static enum sight look_again(struct leave *w)
{
	struct err e;
	char born[64];

	if (is_silent(w))
		return GONE;
	if (link_open(w->link, &e) != 0)
		return STILL_THERE;
	ask_birth(w->link, born);
	return strcmp(born, w->born) != 0 ? GONE : STILL_THERE;
}

static enum sight look_from_afar(const struct leave *w)
{
	return w->process < 0 && is_silent(w) ? GONE : STILL_THERE;
}

void leave_wait(struct leave *w, bool alone)
{
	enum sight sight = STILL_THERE;

	if (alone) {
		PQfinish(w->link->conn);
		w->link->conn = NULL;
	}
	while (sight != GONE) {
		sight = alone ? look_from_afar(w) : look(w);
		if (sight == LOST && w->process < 0)
			sight = look_again(w);
		if (sight != GONE && terminal_rest(LOOK, w->process, POLLIN))
			sight = GONE;
	}
	clear_progress(w);
}

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
static int wait_ready_look(struct link *l, const struct ctl_options *o, struct err *e)
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
		rc = wait_ready_look(l, o, &e);
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
