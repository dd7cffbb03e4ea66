/* status.c - the pooler's condition in figures and words, on one screen.
 * SPDX-License-Identifier: ISC */
#include "ctl/status.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "ctl/board.h"
#include "ctl/command.h"
#include "ctl/grid.h"
#include "ctl/link.h"
#include "ctl/orders.h"
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

/* "PgBouncer 1.25.2 (pgsluice 0.1.0)": what is in brackets. */
void summary_version(struct summary *s, const struct grid *version)
{
	const char *const all = grid_cell(version, 0, 0);
	const char *const from = all == NULL ? NULL : strchr(all, '(');
	struct text t;

	text_init(&t, s->version, sizeof(s->version));
	if (from != NULL)
		text_add_bytes(&t, from + 1, strcspn(from + 1, ")"));
	else
		text_add(&t, all != NULL ? all : "");
}

/* "2026-11-23 09:15:02.123456+00" */
void summary_uptime(struct summary *s, const char *started, usec_t now)
{
	struct tm tm = { 0 };

	s->uptime = -1;
	if (started == NULL ||
	    strptime(started, "%Y-%m-%d %H:%M:%S", &tm) == NULL)
		return;
	const usec_t uptime = now - (usec_t)timegm(&tm) * USEC;

	s->uptime = uptime > 0 ? uptime : 0;
}

static bool is_yes(const struct grid *state, const char *key)
{
	const char *const value = grid_value(state, key);

	return value != NULL && strcmp(value, "yes") == 0;
}

static int64_t items(const struct grid *g, const char *key)
{
	const char *const value = grid_value(g, key);
	int64_t n = 0;

	if (value != NULL)
		(void)num_parse_i64(value, &n);
	return n;
}

/* Rows such as "client_tls_cert_file_days". */
static void take_certificates(struct summary *s, const struct grid *state)
{
	static const char end[] = "_cert_file_days";
	const int key_at = grid_column(state, "key");
	const int value_at = grid_column(state, "value");
	struct text t;

	text_init(&t, s->certificates, sizeof s->certificates);
	for (size_t i = 0; i < state->rows; i++) {
		const char *const key = grid_cell(state, i, key_at);
		const char *const days = grid_cell(state, i, value_at);
		const size_t len = key == NULL ? 0 : strlen(key);

		if (days == NULL || len < sizeof end ||
		    strcmp(key + len - sizeof end + 1, end) != 0)
			continue;
		text_addf(&t, "%s%.*s %s days", t.len > 0 ? ", " : "",
		    (int)(len - strlen("_days")), key, days);
	}
}

void summary_state(struct summary *s, const struct grid *state)
{
	s->paused = is_yes(state, "paused");
	s->suspended = is_yes(state, "suspended");
	s->draining = grid_value(state, "draining") != NULL;
	s->drain_clients = items(state, "clients_left");
	s->drain_seconds = items(state, "seconds_left");
	take_certificates(s, state);
}

void summary_lists(struct summary *s, const struct grid *lists)
{
	s->clients = items(lists, "used_clients");
	s->logins = items(lists, "login_clients");
	s->servers = items(lists, "used_servers");
}

void summary_consoles(struct summary *s, const struct grid *pools)
{
	const int database = grid_column(pools, "database");

	for (size_t i = 0; i < pools->rows; i++) {
		const char *const name = grid_cell(pools, i, database);

		if (name != NULL && strcmp(name, "pgbouncer") == 0)
			s->clients -= grid_number(pools, i, "cl_active");
	}
	s->clients = s->clients > 0 ? s->clients : 0;
}

void summary_waits(struct summary *s, const struct grid *waits)
{
	s->waiting = s->longest = 0;
	for (size_t i = 0; i < waits->rows; i++) {
		const usec_t wait = grid_number(waits, i, "wait_us");

		s->waiting += grid_number(waits, i, "clients");
		s->longest = wait > s->longest ? wait : s->longest;
	}
}

static const char *cell(const struct grid *g, size_t row, const char *column)
{
	return grid_cell(g, row, grid_column(g, column));
}

void summary_add_finding(struct text *t, const struct grid *g, size_t row)
{
	const char *const database = cell(g, row, "database");
	const char *const user = cell(g, row, "user");
	const char *const reason = cell(g, row, "reason");
	const char *const detail = cell(g, row, "detail");

	if (database != NULL && user != NULL)
		text_addf(t, "pool %s/%s: ", database, user);
	else if (database != NULL)
		text_addf(t, "database \"%s\": ", database);
	text_add(t, reason != NULL ? reason : "");
	if (cell(g, row, "seconds") != NULL)
		text_addf(t, " for %lld s",
		    (long long)grid_number(g, row, "seconds"));
	if (detail != NULL)
		text_addf(t, ": %s", detail);
}

void summary_health(struct summary *s, const struct grid *health)
{
	const char *const word = cell(health, 0, "state");
	struct text t;

	text_copy(s->health, sizeof s->health, word != NULL ? word : "well");
	text_init(&t, s->reason, sizeof s->reason);
	s->reason[0] = '\0';
	if (health->rows > 1)
		summary_add_finding(&t, health, 1);
}

bool summary_is_well(const struct summary *s)
{
	return strcmp(s->health, "well") == 0;
}

bool summary_is_active(const struct summary *s)
{
	return !s->paused && !s->suspended && !s->draining;
}

const char *summary_word(const struct summary *s)
{
	return s->draining ? "draining" : s->suspended ? "suspended" :
	    s->paused ? "paused" : "active";
}

void summary_add_state(struct text *t, const struct summary *s)
{
	text_add(t, summary_word(s));
	if (s->draining)
		text_addf(t, ", %lld clients left, %lld s",
		    (long long)s->drain_clients, (long long)s->drain_seconds);
}

void summary_add_uptime(struct text *t, usec_t time)
{
	const long long all = time / USEC;
	const int s = (int)(all % 60), m = (int)(all / 60 % 60);
	const int h = (int)(all / 3600 % 24);
	const long long days = all / 86400;

	if (days > 0)
		text_addf(t, "%lld day%s %02d:%02d", days, days == 1 ? "" :
		    "s", h, m);
	else
		text_addf(t, "%02d:%02d:%02d", h, m, s);
}

void summary_add_wait(struct text *t, usec_t time)
{
	if (time <= 0)
		text_add(t, "0");
	else if (time < USEC)
		text_addf(t, "%lld ms", (long long)(time + 999) / 1000);
	else if (time < 100 * USEC)
		text_addf(t, "%lld.%lld s", (long long)(time / USEC),
		    (long long)(time % USEC / (USEC / 10)));
	else
		text_addf(t, "%lld min", (long long)(time / USEC / 60));
}
