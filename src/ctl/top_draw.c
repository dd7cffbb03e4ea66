/* top_draw.c - the screen of top.
 * SPDX-License-Identifier: ISC */
#include <ncurses.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "ctl/printable.h"
#include "ctl/top_parts.h"

#define LINE_BYTES 4096
#define HEAD 4			/* lines above the list */
#define FOOT 1			/* and below */

enum { NORMAL, ALARM, GOOD };	/* pairs of colours */

size_t top_page(void)
{
	return LINES > HEAD + FOOT ? (size_t)(LINES - HEAD - FOOT) : 1;
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
	put(0, "NO CONSOLE, trying again; what is shown is old",
	    colour(ALARM));
	put(1, buf, colour(ALARM));
}

static void draw_state(const struct top *t)
{
	char buf[LINE_BYTES], where[256];
	struct text line;

	text_init(&line, buf, sizeof(buf));
	text_add(&line, t->sum.health);
	if (!summary_is_active(&t->sum)) {
		text_add(&line, ", ");
		summary_add_state(&line, &t->sum);
	}
	text_addf(&line, "  %s  %s", t->sum.version,
	    link_where(&t->link, where, sizeof(where)));
	if (t->sum.uptime >= 0) {
		text_add(&line, "  up ");
		summary_add_uptime(&line, t->sum.uptime);
	}
	if (t->sum.reason[0] != '\0')
		text_addf(&line, "  %s", t->sum.reason);
	put(0, buf, colour(summary_is_well(&t->sum) ? GOOD : ALARM));
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
	if (t->frozen)
		text_add(&line, "  FROZEN");
	else
		text_addf(&line, "  every %lld.%lld s",
		    (long long)(t->interval / USEC),
		    (long long)(t->interval % USEC / (USEC / 10)));
	put(2, buf, A_NORMAL);
}

/* --- the list --- */

static void draw_rows(const struct top *t)
{
	const struct board_data d = { board_at(t->shown), &t->rows };
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
		    row < t->rows.rows && board_is_alarming(&d, row) ?
		    colour(ALARM) : A_NORMAL);
	}
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"",
		"  1 2 3 4, Tab      pools, clients, servers, waits",
		"  < >, left right   order by the column before, behind",
		"  r                 the other way round",
		"  up down, j k      scroll; also PgUp, PgDn, Home, End",
		"  + -               refresh less, more often",
		"  space             freeze, and go on",
		"  q                 quit",
		"",
		"  What the columns mean: pgsluice-admin(7). BUSY/SIZE are the",
		"  servers that clients have, and how many there may be.",
		"",
		"  Any key goes back.",
	};
	const size_t n = sizeof(lines) / sizeof(*lines);

	for (size_t i = 0; i <= top_page(); i++)
		put(HEAD - 1 + (int)i, i < n ? lines[i] : "", A_NORMAL);
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
	if (t->help)
		draw_help();
	else
		draw_rows(t);
	put(LINES - 1, "q quit  1-4 list  < > order  r reverse  space freeze"
	    "  + - interval  h help", A_REVERSE);
	refresh();
}
