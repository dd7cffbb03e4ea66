/* status.c - pgsluicectl status: how the pooler is, on one screen.
 * SPDX-License-Identifier: ISC */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "ctl/board.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/link.h"
#include "ctl/log_place.h"
#include "ctl/printable.h"
#include "ctl/summary.h"
#include "ctl/terminal.h"

#define LINE_MAX_BYTES 2048
#define REASONS_MAX 5		/* shown; of more the number is told */

/* Questions; all answers together are one status. */
enum {
	ASK_VERSION, ASK_STATE, ASK_LISTS, ASK_POOLS, ASK_WAITS, ASK_HEALTH,
	ANSWERS
};

static const char *const queries[ANSWERS] = {
	[ASK_VERSION] = "SHOW VERSION",
	[ASK_STATE] = "SHOW STATE",
	[ASK_LISTS] = "SHOW LISTS",
	[ASK_POOLS] = "SHOW POOLS EXTENDED",
	[ASK_WAITS] = "SHOW WAITS",
	[ASK_HEALTH] = "SHOW HEALTH",
};

struct status {
	struct link link;
	struct grid answers[ANSWERS];
	struct summary sum;
	char log[LOG_PLACE_MAX];	/* "": not told */
	bool colour;
};

static void ask_uptime(struct status *s)
{
	struct grid g;
	struct err e;

	s->sum.uptime = -1;
	if (link_ask(&s->link, "SELECT pg_postmaster_start_time()", &g, &e) !=
	    LINK_OK)
		return;
	time_update();
	summary_uptime(&s->sum, grid_cell(&g, 0, 0), time_wall(time_now()));
	link_give_back(&g);
}

static enum link_end ask(struct status *s, struct err *e)
{
	for (size_t i = 0; i < ANSWERS; i++) {
		const enum link_end how = link_ask(&s->link, queries[i],
		    &s->answers[i], e);

		if (how != LINK_OK)
			return how;
	}
	ask_uptime(s);
	if (log_place(&s->link, s->log, sizeof(s->log)) != 0)
		s->log[0] = '\0';
	summary_version(&s->sum, &s->answers[ASK_VERSION]);
	summary_state(&s->sum, &s->answers[ASK_STATE]);
	summary_lists(&s->sum, &s->answers[ASK_LISTS]);
	summary_waits(&s->sum, &s->answers[ASK_WAITS]);
	summary_health(&s->sum, &s->answers[ASK_HEALTH]);
	summary_consoles(&s->sum, &s->answers[ASK_POOLS]);
	board_hide_console(&s->answers[ASK_POOLS]);
	return LINK_OK;
}

/* --- what is wrong --- */

static void print_finding(const struct status *s, size_t row)
{
	const struct grid *const g = &s->answers[ASK_HEALTH];
	const char *const word = grid_cell(g, row, grid_column(g, "state"));
	char buf[LINE_MAX_BYTES];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	text_addf(&t, "%-10s ", word != NULL ? word : "");
	summary_add_finding(&t, g, row);
	fputs(s->colour ? "\033[31m" : "", stdout);
	printable_put(stdout, buf);
	fputs(s->colour ? "\033[0m\n" : "\n", stdout);
}

/* The reasons, and below them the word for all. */
static void print_health(const struct status *s)
{
	const size_t rows = s->answers[ASK_HEALTH].rows;
	const char *const paint = summary_is_well(&s->sum) ? "\033[32m" :
	    "\033[31m";

	for (size_t i = 1; i < rows && i <= REASONS_MAX; i++)
		print_finding(s, i);
	if (rows > REASONS_MAX + 1)
		printf("...        %zu more: pgsluicectl show health\n",
		    rows - 1 - REASONS_MAX);
	printf("%s%s%s\n", s->colour ? paint : "", s->sum.health,
	    s->colour ? "\033[0m" : "");
}

/* --- the screen --- */

static void print_head(const struct status *s)
{
	const struct summary *const sum = &s->sum;
	char buf[LINE_MAX_BYTES], where[256], how[128];
	struct text t, state;

	text_init(&t, buf, sizeof(buf));
	text_addf(&t, "%s at %s", sum->version, link_where(&s->link, where,
	    sizeof(where)));
	if (sum->uptime >= 0) {
		text_add(&t, ", up ");
		summary_add_uptime(&t, sum->uptime);
	}
	printable_put(stdout, buf);
	text_init(&t, buf, sizeof(buf));
	if (sum->waiting > 0) {
		text_addf(&t, "%lld wait, the longest for ",
		    (long long)sum->waiting);
		summary_add_wait(&t, sum->longest);
	} else {
		text_add(&t, "none waits");
	}
	text_init(&state, how, sizeof(how));
	summary_add_state(&state, sum);
	printf("\n\nstate      %s\nclients    %lld, %s\n"
	    "servers    %lld\n", how, (long long)sum->clients,
	    buf, (long long)sum->servers);
	if (sum->certificates[0] != '\0') {
		fputs("expire in  ", stdout);
		printable_put(stdout, sum->certificates);
		putchar('\n');
	}
	if (s->log[0] != '\0') {
		fputs("log        ", stdout);
		printable_put(stdout, s->log);
		putchar('\n');
	}
	putchar('\n');
}

/* The busiest pools, as many as the screen has room for. */
static void print_pools(struct status *s)
{
	const struct terminal_size size = terminal_size();
	struct grid *const g = &s->answers[ASK_POOLS];
	const struct board_data d = { board_at(0), g,
		&s->answers[ASK_HEALTH] };
	const size_t most = size.rows > 20 ? (size_t)size.rows - 14 : 8;
	int widths[BOARD_COLUMNS];

	if (g->rows == 0) {
		printf("no pools yet\n\n");
		return;
	}
	(void)grid_sort(g, grid_column(g, "sv_active"), true);
	(void)grid_sort(g, grid_column(g, "cl_waiting"), true);
	board_layout(&d, size.columns > 0 ? size.columns : 120, widths);
	for (size_t i = 0; i <= g->rows && i <= most; i++) {
		const struct board_line line = { widths, -1, false };
		char buf[LINE_MAX_BYTES];
		struct text t;

		text_init(&t, buf, sizeof(buf));
		board_line(&line, &d, i == 0 ? SIZE_MAX : i - 1, &t);
		while (t.len > 0 && buf[t.len - 1] == ' ')
			buf[--t.len] = '\0';
		printf("%s%s%s\n", s->colour && i == 0 ? "\033[1m" : "", buf,
		    s->colour && i == 0 ? "\033[0m" : "");
	}
	if (g->rows > most)
		printf("... and %zu more\n", g->rows - most);
	putchar('\n');
}

static int status(const struct ctl_options *o, int argc, char **argv)
{
	struct status s = { .colour = terminal_has_colour() };
	struct err e = { .text = "" };
	int rc;

	(void)argc;
	(void)argv;
	if (link_init(&s.link, o, &e) != 0) {
		rc = ctl_fail("%s", e.text);
	} else if (link_open(&s.link, &e) != 0 || ask(&s, &e) != LINK_OK) {
		rc = ctl_unreachable("%s", e.text);
	} else {
		print_head(&s);
		print_pools(&s);
		print_health(&s);
		rc = ctl_flush();
	}
	for (size_t i = 0; i < ANSWERS; i++)
		link_give_back(&s.answers[i]);
	link_fini(&s.link);
	return rc == CTL_OK && !summary_is_well(&s.sum) ? CTL_UNHEALTHY : rc;
}

const struct ctl_command *status_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "status", NULL, "", "show health on one screen; the exit "
		    "code is 0 if all is well", 0, 0, status,
		    TAKES_PLACE },
		{ .group = NULL },
	};

	return commands;
}
