/* top.c - pgsluicectl top: pools, clients, servers and waits, live, and what
 * is done with them.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/terminal.h"
#include "ctl/top_parts.h"

#define INTERVAL (2 * USEC)
#define INTERVAL_MIN (USEC / 2)
#define INTERVAL_MAX (60 * USEC)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- keys --- */

static void key_board(struct top *t, int key)
{
	top_choose(t, (size_t)(key - '1'));
}

static void key_tab(struct top *t, int key)
{
	top_choose(t, (t->board + (key == '\t' ? 1 : TOP_BOARDS - 1)) % TOP_BOARDS);
}

static void key_order(struct top *t, int key)
{
	const int n = (int)board_width(board_at(t->board));
	const int step = key == '>' || key == KEY_RIGHT ? 1 : n - 1;

	t->sort[t->board].column = (t->sort[t->board].column + step) % n;
	t->sort[t->board].descending = board_at(t->board)->columns[
	    t->sort[t->board].column].kind != BOARD_TEXT;
	top_sort(t);
	top_ask(t);
}

static void key_reverse(struct top *t, int key)
{
	(void)key;
	t->sort[t->board].descending = !t->sort[t->board].descending;
	top_sort(t);
	top_ask(t);
}

/* Select another row; the list follows it (show_selected). */
static void key_scroll(struct top *t, int key)
{
	const long page = (long)top_page(), at = (long)t->selected;
	const struct {
		int key;
		long to;
	} moves[] = {
		{ KEY_UP, at - 1 }, { KEY_DOWN, at + 1 },
		{ KEY_PPAGE, at - page }, { KEY_NPAGE, at + page },
		{ KEY_HOME, 0 }, { KEY_END, (long)t->rows.rows - 1 },
	};

	for (size_t i = 0; i < COUNT(moves); i++) {
		if (moves[i].key == key)
			top_select(t, moves[i].to > 0 ? (size_t)moves[i].to :
			    0);
	}
}

/* The selected row is on the screen. */
static void show_selected(struct top *t)
{
	const size_t page = top_page();

	if (t->selected < t->first)
		t->first = t->selected;
	else if (t->selected >= t->first + page)
		t->first = t->selected - page + 1;
	if (t->first + page > t->rows.rows)
		t->first = t->rows.rows > page ? t->rows.rows - page : 0;
}

static void key_freeze(struct top *t, int key)
{
	(void)key;
	t->frozen = !t->frozen;
	if (!t->frozen)
		top_ask(t);
}

static void key_interval(struct top *t, int key)
{
	const usec_t next = key == '-' ? t->interval / 2 : t->interval * 2;

	if (next >= INTERVAL_MIN && next <= INTERVAL_MAX)
		t->interval = next;
	top_ask(t);
}

static void key_help(struct top *t, int key)
{
	(void)key;
	t->mode = TOP_HELPS;
}

static void key_quit(struct top *t, int key)
{
	(void)key;
	t->leave = true;
}

static const struct {
	int key;
	void (*act)(struct top *t, int key);
} keys[] = {
	{ '1', key_board }, { '2', key_board }, { '3', key_board },
	{ '4', key_board }, { '\t', key_tab }, { KEY_BTAB, key_tab },
	{ '<', key_order }, { '>', key_order }, { KEY_LEFT, key_order },
	{ KEY_RIGHT, key_order }, { 'r', key_reverse },
	{ KEY_UP, key_scroll }, { KEY_DOWN, key_scroll },
	{ KEY_PPAGE, key_scroll },
	{ KEY_NPAGE, key_scroll }, { KEY_HOME, key_scroll },
	{ KEY_END, key_scroll }, { ' ', key_freeze }, { '+', key_interval },
	{ '-', key_interval }, { 'h', key_help }, { '?', key_help },
	{ 'q', key_quit }, { 'Q', key_quit },
};

static void look_key(struct top *t, int key)
{
	t->message[0] = '\0';
	if (top_act(t, key))
		return;
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (keys[i].key == key)
			keys[i].act(t, key);
	}
}

static void help_key(struct top *t, int key)
{
	t->mode = TOP_LOOKS;
	if (key == 'q' || key == 'Q')
		t->leave = true;
}

static void on_key(struct top *t, int key)
{
	static void (*const modes[])(struct top *t, int key) = {
		[TOP_LOOKS] = look_key,
		[TOP_HELPS] = help_key,
		[TOP_FILTERS] = top_filter_key,
		[TOP_WOULD_KILL] = top_kill_key,
	};

	modes[t->mode](t, key);
}

/* --- signals: read from a descriptor, so that none hits amid a line --- */

static int catch_signals(sigset_t *before)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
		SIGWINCH };
	sigset_t s;

	sigemptyset(&s);
	for (size_t i = 0; i < COUNT(caught); i++)
		sigaddset(&s, caught[i]);
	if (sigprocmask(SIG_BLOCK, NULL, before) != 0)
		return -1;
	return os_signals_open(&s);
}

/* Returns the one that ends us, or 0. */
static int take_signals(int fd)
{
	int signo;

	while ((signo = os_signals_take(fd)) != 0) {
		if (signo != SIGWINCH)
			return signo;
		const struct terminal_size size = terminal_size();

		if (size.rows > 0)
			resizeterm(size.rows, size.columns);
	}
	return 0;
}

/* End by the same signal, which its sender sees. Ctrl-C is as good as q. */
static int end_by(int sig, const sigset_t *before)
{
	if (sig == 0 || sig == SIGINT)
		return CTL_OK;
	(void)signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_SETMASK, before, NULL);
	return CTL_FAILED;
}

/* --- the loop --- */

static SCREEN *open_screen(void)
{
	SCREEN *const s = top_knows_terminal() ?
	    newterm(NULL, stdout, stdin) : NULL;

	if (s == NULL)
		return NULL;
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	if (terminal_has_colour() && start_color() == OK) {
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_GREEN, -1);
	}
	return s;
}

/* Until there is something to do. Returns the signal that ends us, or 0. */
static int turn(struct top *t, int signals)
{
	struct pollfd p[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = PQsocket(t->link.conn), .events = POLLIN },
	};
	const usec_t due = top_due(t) - time_precise();
	const usec_t left = due < TOP_LOOK ? due : TOP_LOOK;
	int key;

	if (t->state == TOP_CONNECTING)
		p[2].events = t->events;
	if (poll(p, COUNT(p), left > 0 ? (int)(left / 1000) + 1 : 0) < 0)
		return 0;
	if ((p[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
		return SIGHUP;
	while ((key = getch()) != ERR)
		on_key(t, key);
	top_proceed(t, p[2].revents != 0);
	return take_signals(signals);
}

static int run(struct top *t)
{
	sigset_t before;
	const int signals = catch_signals(&before);
	SCREEN *const screen = signals < 0 ? NULL : open_screen();
	int sig = 0;

	if (screen == NULL) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return ctl_fail("the terminal is of a kind that is not known: "
		    "set TERM");
	}
	while (sig == 0 && !t->leave) {
		show_selected(t);
		top_draw(t);
		sig = turn(t, signals);
	}
	endwin();
	delscreen(screen);
	close(signals);
	return end_by(sig, &before);
}

static void init(struct top *t, const struct ctl_options *o)
{
	t->interval = o->watch > 0 ? o->watch : INTERVAL;
	t->tps = t->qps = t->sum.uptime = -1;
	for (size_t i = 0; i < TOP_BOARDS; i++) {
		t->sort[i].column = board_at(i)->sort;
		t->sort[i].descending = board_at(i)->descending;
	}
}

static int top(const struct ctl_options *o, int argc, char **argv)
{
	struct top t = { .state = TOP_RESTING };
	int rc;

	(void)argc;
	(void)argv;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ctl_fail("top needs a terminal; \"show pools --watch 2\" "
		    "does not");
	init(&t, o);
	if (link_init(&t.link, o, &t.why) != 0)
		rc = ctl_fail("%s", t.why.text);
	else if (link_open(&t.link, &t.why) != 0)
		rc = ctl_unreachable("%s", t.why.text);
	else
		rc = run(&t);
	top_forget(&t);
	link_fini(&t.link);
	return rc;
}

const struct ctl_command *top_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "top", NULL, "", "show pools, clients, servers and waits, "
		    "live; h helps", 0, 0, top, TAKES_PLACE | TAKES_WATCH },
		{ .group = NULL },
	};

	return commands;
}

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
