/* show.c - pgsluicectl show: what the console shows, once or again and again.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/link.h"
#include "ctl/terminal.h"

#define QUERY_MAX 8192

struct show {
	const struct ctl_options *o;
	struct link link;
	char query[QUERY_MAX];
	bool again;		/* not the first time */
};

/* SHOW [JSON] and the words as they are; 0, or -1: too many. */
static int compose(struct show *s, int argc, char **argv)
{
	struct text t;

	text_init(&t, s->query, sizeof(s->query));
	text_add(&t, s->o->form == FORM_JSON ? "SHOW JSON" : "SHOW");
	for (int i = 0; i < argc; i++)
		text_addf(&t, " %s", argv[i]);
	return t.cut ? -1 : 0;
}

/* Where and when, above what is shown again and again. */
static void heading(struct show *s)
{
	char now[64], where[256];

	time_update();
	if (terminal_is_out())
		fputs("\033[H\033[2J\033[3J", stdout);
	else if (s->o->form != FORM_TABLE)
		return;
	else if (s->again)
		putchar('\n');
	s->again = true;
	printf("%s  ", time_format(time_now(), now, sizeof(now)));
	printable_put(stdout, link_where(&s->link, where, sizeof(where)));
	fputs("  ", stdout);
	printable_put(stdout, s->query);
	fputs("\n\n", stdout);
}

static void print(const struct show *s, const struct grid *g)
{
	const struct sheet sheet = {
		.out = stdout,
		.columns = terminal_size().columns,
		.terminal = terminal_size().columns > 0,
		.colour = terminal_has_colour(),
	};
	const char *const json = grid_cell(g, 0, 0);

	if (g->columns == 0)
		return;
	if (s->o->form == FORM_JSON)
		sheet_json(&sheet, json != NULL ? json : "");
	else if (s->o->form == FORM_CSV)
		sheet_csv(&sheet, g);
	else
		sheet_table(&sheet, g);
}

/* Once. Returns the exit code; any reason but a lost link has been told. */
static int show_once(struct show *s, struct err *e)
{
	struct grid g;
	PGresult *res;
	const enum link_end how = link_query(&s->link, s->query, &res, e);

	if (how == LINK_REFUSED)
		return ctl_fail("%s", e->text);
	if (how == LINK_LOST)
		return CTL_UNREACHABLE;
	if (s->o->watch > 0)
		heading(s);
	if (link_take(&g, res, e) != 0)
		return ctl_fail("%s", e->text);
	print(s, &g);
	link_give_back(&g);
	return ctl_flush();
}

/* The connection is gone: wait for another, where somebody looks at us. */
static int reconnect(struct show *s, struct err *e)
{
	ctl_unreachable("%s", e->text);
	if (!terminal_is_out())
		return CTL_UNREACHABLE;
	ctl_unreachable("trying again; Ctrl-C ends this");
	while (link_open(&s->link, e) != 0) {
		if (link_is_denied(&s->link))
			return ctl_unreachable("%s", e->text);
		if (terminal_rest(USEC, STDOUT_FILENO, 0))
			return CTL_FAILED;
	}
	return CTL_OK;
}

static int show_again(struct show *s, struct err *e)
{
	int rc = CTL_OK;

	while (rc == CTL_OK) {
		rc = show_once(s, e);
		if (rc == CTL_UNREACHABLE)
			rc = reconnect(s, e);
		else if (rc == CTL_OK && terminal_rest(s->o->watch,
		    STDOUT_FILENO, 0))
			return CTL_FAILED;
	}
	return rc;
}

static int show(const struct ctl_options *o, int argc, char **argv)
{
	struct show s = { .o = o };
	struct err e = { .text = "" };
	int rc;

	if (compose(&s, argc, argv) != 0)
		return ctl_fail("too many words");
	if (link_init(&s.link, o, &e) != 0) {
		rc = ctl_fail("%s", e.text);
	} else if (link_open(&s.link, &e) != 0) {
		rc = ctl_unreachable("%s", e.text);
	} else if (o->watch > 0) {
		rc = show_again(&s, &e);
	} else {
		/* SHOW HELP answers by a notice */
		s.link.notices = stdout;
		rc = show_once(&s, &e);
		if (rc == CTL_UNREACHABLE)
			ctl_unreachable("%s", e.text);
	}
	link_fini(&s.link);
	return rc;
}

const struct ctl_command *show_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "show", NULL, "TOPIC [EXTENDED] [(COLUMN, ...)] [WHERE ...]",
		    "print the result of SHOW on the console; \"show help\" "
		    "lists the topics", 1, -1, show,
		    TAKES_PLACE | TAKES_FORM | TAKES_WATCH },
		{ .group = NULL },
	};

	return commands;
}
