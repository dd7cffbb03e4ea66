/* top_act.c - what can be done with the rows of top: find, enter, cancel, kill.
 * SPDX-License-Identifier: ISC */
#include <ncurses.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ctl/top_parts.h"

#define ESCAPE 27
#define CONTROL_U 21
#define RUBOUT 127
#define ENTER_KEYS(key) ((key) == '\r' || (key) == '\n' || (key) == KEY_ENTER)

/* Indexes of boards (board.c). */
enum { POOLS, CLIENTS, SERVERS, WAITS };

struct board_data top_data(const struct top *t)
{
	return (struct board_data){ board_at(t->shown), &t->rows,
		&t->findings };
}

void top_choose(struct top *t, size_t board)
{
	t->board = board;
	t->first = t->selected = 0;
	t->key[0] = '\0';
	t->frozen = false;
	top_ask(t);
}

static const char *selected(const struct top *t, const char *column)
{
	const char *const value = grid_cell(&t->rows, t->selected,
	    grid_column(&t->rows, column));

	return value != NULL ? value : "";
}

/* --- one pool --- */

static void enter(struct top *t)
{
	if ((t->shown != POOLS && t->shown != WAITS) || t->rows.rows == 0)
		return;
	text_copy(t->database, sizeof(t->database), selected(t, "database"));
	text_copy(t->user, sizeof(t->user), selected(t, "user"));
	top_choose(t, CLIENTS);
}

/* Back to all pools, or to all rows. */
static void leave(struct top *t)
{
	const bool one = t->database[0] != '\0';

	t->filter[0] = '\0';
	t->database[0] = t->user[0] = '\0';
	top_choose(t, one ? POOLS : t->board);
}

/* --- filter --- */

void top_filter_key(struct top *t, int key)
{
	const size_t len = strlen(t->filter);

	if (key == ESCAPE || key == CONTROL_U)
		t->filter[0] = '\0';
	if (key == ESCAPE || ENTER_KEYS(key))
		t->mode = TOP_LOOKS;
	else if ((key == KEY_BACKSPACE || key == RUBOUT || key == '\b') &&
	    len > 0)
		t->filter[len - 1] = '\0';
	else if (key >= ' ' && key < RUBOUT && len + 1 < sizeof(t->filter))
		snprintf(t->filter + len, sizeof(t->filter) - len, "%c", key);
	board_filter(&t->rows, t->filter);
	t->selected = 0;
	t->key[0] = '\0';
	top_ask(t);
}

/* --- cancel and kill --- */

/* The client that a cancel would be for; "": there is none. */
static const char *client_of(const struct top *t)
{
	return selected(t, t->shown == CLIENTS ? "id" : "client_id");
}

static void ask_kill(struct top *t)
{
	const bool client = t->shown == CLIENTS;

	if ((!client && t->shown != SERVERS) || t->rows.rows == 0) {
		text_copy(t->message, sizeof(t->message), "k is for a client "
		    "or a server: choose one by 2 or 3");
		return;
	}
	if (!t->greeted || t->shown != t->board) {
		text_copy(t->message, sizeof(t->message), "these rows are old: "
		    "wait until the console has answered");
		return;
	}
	t->mode = TOP_WOULD_KILL;
	/* the rows may change before there is an answer */
	snprintf(t->kill, sizeof(t->kill), "KILL_%s %.20s", client ? "CLIENT" :
	    "SERVER", selected(t, "id"));
	snprintf(t->cancel, sizeof(t->cancel), "%s%.20s",
	    client_of(t)[0] != '\0' ? "CANCEL_CLIENT " : "", client_of(t));
	snprintf(t->message, sizeof(t->message), "%s %s of %s/%s: %sk close "
	    "the connection, any other key: neither",
	    client ? "Client" : "Server", selected(t, "id"),
	    selected(t, "database"), selected(t, "user"),
	    t->cancel[0] != '\0' ? "c cancel its query, " : "");
}

void top_kill_key(struct top *t, int key)
{
	t->mode = TOP_LOOKS;
	t->message[0] = '\0';
	if (key == 'k' || key == 'c')
		text_copy(t->order, sizeof(t->order), key == 'k' ? t->kill :
		    t->cancel);
	top_ask(t);
}

bool top_act(struct top *t, int key)
{
	if (key == '/')
		t->mode = TOP_FILTERS;
	else if (key == 'k')
		ask_kill(t);
	else if (ENTER_KEYS(key))
		enter(t);
	else if (key == ESCAPE || key == KEY_BACKSPACE || key == RUBOUT)
		leave(t);
	else
		return false;
	return true;
}
