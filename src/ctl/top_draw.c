/* top_draw.c - the screen of top.
 * SPDX-License-Identifier: ISC */
#include <ncurses.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "ctl/terminal.h"
#include "ctl/top_parts.h"

#define LINE_BYTES 4096
#define HEAD 4			/* lines above the list */
#define PANE 3			/* about the selected row, on a high screen */
#define HIGH 16
#define LATE (2 * USEC)		/* of data that is not renewed in time */

enum { NORMAL, ALARM, GOOD };	/* pairs of colours */

static int pane(void)
{
	return LINES >= HIGH ? PANE : 0;
}

size_t top_page(void)
{
	const int rest = LINES - HEAD - pane() - 1;

	return rest > 0 ? (size_t)rest : 1;
}

/* A whole line of the screen, cut where it ends. */
static void put(int y, const char *s, attr_t how)
{
	char buf[LINE_BYTES];
	struct text t;

	/* the last place of the last line would scroll */
	const int columns = y == LINES - 1 ? COLS - 1 : COLS;

	if (y < 0 || y >= LINES)
		return;
	text_init(&t, buf, sizeof(buf));
	const int width = printable_add(&t, s, columns);

	text_addf(&t, "%*s", columns - width, "");
	attrset((int)how);
	mvaddstr(y, 0, buf);
	attrset(A_NORMAL);
}

static attr_t colour(short pair)
{
	return has_colors() ? (attr_t)COLOR_PAIR(pair) | A_BOLD : A_BOLD;
}

/* --- the head --- */

/* libpq's message is long; the reason stands at the end of its first line. */
static void draw_loss(const struct top *t)
{
	static const char before[] = " failed: ";
	const char *const at = strstr(t->why.text, before);
	const char *const why = at != NULL ? at + strlen(before) : t->why.text;
	char buf[LINE_BYTES];
	struct text line;

	text_init(&line, buf, sizeof(buf));
	text_add_bytes(&line, why, strcspn(why, "\n"));
	put(0, "NO CONSOLE, trying again; the data is old",
	    colour(ALARM));
	put(1, buf, colour(ALARM));
}

/* How much later than it should be the next answer is; 0: it is not. */
static usec_t lateness(const struct top *t)
{
	const usec_t age = time_precise() - t->fresh;
	const bool asks = t->state == TOP_ASKING;

	return t->fresh != 0 && asks && age > t->interval + LATE ? age : 0;
}

/* A folder is of this host, whose name it lacks. */
static void add_host(struct text *line, const char *where)
{
	char host[256] = "";

	if (where[0] == '/' && gethostname(host, sizeof(host) - 1) == 0)
		text_addf(line, "%s:", host);
	text_add(line, where);
}

static void draw_state(const struct top *t)
{
	char buf[LINE_BYTES], where[256];
	const usec_t late = lateness(t);
	struct text line;

	text_init(&line, buf, sizeof(buf));
	if (late > 0)
		text_addf(&line, "NO ANSWER, this is %lld s old: it was ",
		    (long long)(late / USEC));
	text_add(&line, t->sum.health);
	if (!summary_is_active(&t->sum)) {
		text_add(&line, ", ");
		summary_add_state(&line, &t->sum);
	}
	text_addf(&line, "  %s  ", t->sum.version);
	add_host(&line, link_where(&t->link, where, sizeof(where)));
	if (t->sum.uptime >= 0) {
		text_add(&line, "  up ");
		summary_add_uptime(&line, t->sum.uptime);
	}
	if (t->sum.reason[0] != '\0')
		text_addf(&line, "  %s", t->sum.reason);
	put(0, buf, colour(late == 0 && summary_is_well(&t->sum) ? GOOD :
	    ALARM));
}

static void draw_figures(const struct top *t)
{
	char buf[LINE_BYTES];
	struct text line;

	text_init(&line, buf, sizeof(buf));
	text_addf(&line, "waiting %lld  longest ", (long long)t->sum.waiting);
	summary_add_wait(&line, t->sum.longest);
	text_addf(&line, "  clients %lld  servers %lld",
	    (long long)t->sum.clients, (long long)t->sum.servers);
	if (t->tps >= 0)
		text_addf(&line, "  %lld tx/s  %lld queries/s",
		    (long long)t->tps, (long long)t->qps);
	put(1, buf, t->sum.waiting > 0 ? colour(ALARM) : A_NORMAL);
}

static void draw_tabs(const struct top *t)
{
	const struct board *b;
	char buf[LINE_BYTES];
	struct text line;

	text_init(&line, buf, sizeof(buf));
	for (size_t i = 0; (b = board_at(i)) != NULL; i++)
		text_addf(&line, i == t->board ? "[%c %s] " : " %c %s  ",
		    b->key, b->name);
	text_addf(&line, " %zu rows", t->rows.rows);
	if (t->database[0] != '\0')
		text_addf(&line, "  of pool %s/%s (Esc: all)", t->database,
		    t->user);
	if (t->filter[0] != '\0')
		text_addf(&line, "  with \"%s\"", t->filter);
	if (t->frozen)
		text_add(&line, "  FROZEN");
	else
		text_addf(&line, "  every %lld.%lld s",
		    (long long)(t->interval / USEC),
		    (long long)(t->interval % USEC / (USEC / 10)));
	put(2, buf, A_NORMAL);
}

/* --- the list --- */

static attr_t how_of(const struct top *t, const struct board_data *d,
    size_t row)
{
	attr_t how = A_NORMAL;

	if (row < t->rows.rows && board_is_alarming(d, row))
		how = colour(ALARM);
	return row == t->selected && row < t->rows.rows ? how | A_STANDOUT :
	    how;
}

static void draw_rows(const struct top *t)
{
	const struct board_data d = top_data(t);
	int widths[BOARD_COLUMNS];
	const struct board_line line = { widths, t->sort[t->shown].column,
		t->sort[t->shown].descending };

	board_layout(&d, COLS, widths);
	for (size_t i = 0; i <= top_page(); i++) {
		const size_t row = i == 0 ? SIZE_MAX : t->first + i - 1;
		char buf[LINE_BYTES];
		struct text text;

		text_init(&text, buf, sizeof(buf));
		if (i == 0 || row < t->rows.rows)
			board_line(&line, &d, row, &text);
		put(HEAD - 1 + (int)i, buf, i == 0 ? A_REVERSE :
		    how_of(t, &d, row));
	}
}

/* All of the selected row, in the lines that are left for it. */
static void draw_pane(const struct top *t)
{
	const struct board_data d = top_data(t);
	char buf[LINE_BYTES] = "";
	struct text text;
	const char *at = buf;

	text_init(&text, buf, sizeof(buf));
	if (t->selected < t->rows.rows)
		board_describe(&d, t->selected, &text);
	for (int i = 0; i < pane(); i++) {
		char line[LINE_BYTES];
		struct text x;
		struct glyph g;

		text_init(&x, line, sizeof(line));
		for (int width = 0; *at != '\0'; width += g.width) {
			const char *const next = printable_next(at, &g);

			if (width + g.width > COLS)
				break;
			text_add_bytes(&x, g.at, g.len);
			at = next;
		}
		put(LINES - 1 - pane() + i, line, A_NORMAL);
	}
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"",
		"  1 2 3 4, Tab      pools, clients, servers, waits",
		"  < >, left right   order by the column before, behind",
		"  r                 the other way round",
		"  up down           select a row; also PgUp, PgDn, Home, End",
		"  Enter             clients and servers of this pool; Esc: of all",
		"  /                 only rows with a text; Esc: all",
		"  k                 cancel or kill this client, or server",
		"  + -               refresh less, more often",
		"  space             freeze, and continue",
		"  q                 quit",
		"",
		"  BUSY/SIZE: servers that clients have, of how many. IN XACT: age",
		"  of the transaction. Other columns: pgsluice-admin(7).",
		"",
		"  Any key goes back.",
	};
	const size_t n = sizeof(lines) / sizeof(*lines);

	for (size_t i = 0; i <= top_page(); i++)
		put(HEAD - 1 + (int)i, i < n ? lines[i] : "", A_NORMAL);
}

static void draw_foot(const struct top *t)
{
	char buf[LINE_BYTES];

	if (t->mode == TOP_FILTERS) {
		snprintf(buf, sizeof(buf), "/%s_   Enter: keep it  Esc: drop it",
		    t->filter);
		put(LINES - 1, buf, A_BOLD);
	} else if (t->message[0] != '\0') {
		put(LINES - 1, t->message, A_BOLD);
	} else {
		put(LINES - 1, "q quit  1-4 list  / filter  Enter pool  k kill"
		    "  < > order  space freeze  h help", A_REVERSE);
	}
}

void top_draw(const struct top *t)
{
	erase();
	if (t->why.text[0] != '\0') {
		draw_loss(t);
	} else {
		draw_state(t);
		draw_figures(t);
	}
	draw_tabs(t);
	if (t->mode == TOP_HELPS) {
		draw_help();
	} else {
		draw_rows(t);
		draw_pane(t);
	}
	draw_foot(t);
	refresh();
}
