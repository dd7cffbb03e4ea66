/* terminal.c - the terminal: its size, a password that is typed, text of
 * others made fit for it.
 * SPDX-License-Identifier: ISC */
#include "ctl/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

void terminal_locale(void)
{
	if (setlocale(LC_CTYPE, "") == NULL || MB_CUR_MAX == 1)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

static bool is_dumb(void)
{
	const char *const term = getenv("TERM");

	return term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0;
}

bool terminal_is_out(void)
{
	return isatty(STDOUT_FILENO) && !is_dumb();
}

bool terminal_is_err(void)
{
	return isatty(STDERR_FILENO) && !is_dumb();
}

/* https://no-color.org: set and not empty */
bool terminal_has_colour(void)
{
	const char *const no = getenv("NO_COLOR");

	return terminal_is_out() && (no == NULL || no[0] == '\0');
}

struct terminal_size terminal_size(void)
{
	struct winsize w = { 0 };

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0)
		return (struct terminal_size){ 0, 0 };
	return (struct terminal_size){ w.ws_row > 0 ? w.ws_row : 24,
		w.ws_col > 0 ? w.ws_col : 80 };
}

bool terminal_rest(usec_t time, int fd, short events)
{
	const usec_t end = time_precise() + time;
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		const usec_t left = end - time_precise();
		const int n = left <= 0 ? 0 : poll(&p, 1,
		    (int)(left / 1000) + 1);

		if (n >= 0 || errno != EINTR)
			return n != 0;
	}
}

static void escape(struct glyph *g, const char *s, size_t n)
{
	struct text t;

	text_init(&t, g->escape, sizeof(g->escape));
	if (*s == '\n' || *s == '\t') {
		text_add(&t, *s == '\n' ? "\\n" : "\\t");
	} else {
		for (size_t i = 0; i < n; i++)
			text_addf(&t, "\\x%02x", (unsigned char)s[i]);
	}
	g->at = g->escape;
	g->len = t.len;
	g->width = (int)t.len;
}

const char *printable_next(const char *s, struct glyph *g)
{
	const size_t n = text_character(s);

	if (n == 0 || text_control(s, n) > 0) {
		escape(g, s, n > 0 ? n : 1);
		return s + (n > 0 ? n : 1);
	}
	const int width = n == 1 ? 1 : wcwidth((wchar_t)text_code_point(s, n));

	g->at = s;
	g->len = n;
	g->width = width >= 0 ? width : 1;
	return s + n;
}

int printable_width(const char *s)
{
	struct glyph g;
	int width = 0;

	while (*s != '\0' && width < INT_MAX / 2) {
		s = printable_next(s, &g);
		width += g.width;
	}
	return width;
}

void printable_put(FILE *out, const char *s)
{
	struct glyph g;

	while (*s != '\0') {
		s = printable_next(s, &g);
		fwrite(g.at, 1, g.len, out);
	}
}

int printable_add(struct text *t, const char *s, int columns)
{
	const bool whole = printable_width(s) <= columns;
	const int room = whole ? columns : columns - 1;
	struct glyph g;
	int width = 0;

	while (*s != '\0') {
		s = printable_next(s, &g);
		if (width + g.width > room)
			break;
		text_add_bytes(t, g.at, g.len);
		width += g.width;
	}
	if (whole || columns < 1)
		return width;
	text_add(t, "~");
	return width + 1;
}

void printable_lines(FILE *out, const char *s)
{
	struct glyph g;

	while (*s != '\0') {
		const char *const next = printable_next(s, &g);

		if (*s == '\n' || *s == '\t')
			putc(*s, out);
		else
			fwrite(g.at, 1, g.len, out);
		s = next;
	}
}

#define PASSWORD_MAX 65531	/* spec/authentication.md section 1 */

/*
 * A line of fd, without its end; a byte at a time, so that what follows it
 * stays for others. 0, or -1 with e.
 */
static int read_line(int fd, char *line, struct err *e)
{
	size_t len = 0;

	for (;;) {
		const ssize_t n = read(fd, line + len, 1);

		if (n < 0)
			return err_set(e, ERRCODE_IO_ERROR, "no password: %s",
			    strerror(errno));
		if (n == 0 && len == 0)
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "no password was given");
		if (n == 0 || line[len] == '\n')
			break;
		if (line[len] == '\0' || ++len == PASSWORD_MAX)
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "the password is too long, or has a NUL byte");
	}
	line[len] = '\0';
	if (len > 0 && line[len - 1] == '\r')
		line[len - 1] = '\0';
	return 0;
}

static char *take_line(int fd, struct err *e)
{
	char *const line = mem_zalloc(PASSWORD_MAX + 1);
	char *copy = NULL;

	if (line == NULL) {
		err_nomem(e);
		return NULL;
	}
	if (read_line(fd, line, e) == 0) {
		copy = mem_strdup(line);
		if (copy == NULL)
			err_nomem(e);
	}
	secret_wipe(line, PASSWORD_MAX + 1);
	mem_free(line);
	return copy;
}

/* Signals that would leave the terminal without echo end the reading. */
static const int enders[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

#define ENDERS (sizeof(enders) / sizeof(*enders))

static void on_signal(int sig)
{
	(void)sig;
}

/* The signals are caught, but held back: await_line() lets them in. */
static void catch_signals(struct sigaction old[ENDERS], sigset_t *before)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t held;

	sigemptyset(&sa.sa_mask);
	sigemptyset(&held);
	for (size_t i = 0; i < ENDERS; i++)
		sigaddset(&held, enders[i]);
	sigprocmask(SIG_BLOCK, &held, before);
	for (size_t i = 0; i < ENDERS; i++)
		sigaction(enders[i], &sa, &old[i]);
}

static void give_signals_back(const struct sigaction old[ENDERS],
    const sigset_t *before)
{
	for (size_t i = 0; i < ENDERS; i++)
		sigaction(enders[i], &old[i], NULL);
	sigprocmask(SIG_SETMASK, before, NULL);
}

/* A whole line, or a signal, even one that came before this. 0 or -1. */
static int await_line(int tty, const sigset_t *before)
{
	struct pollfd p = { .fd = tty, .events = POLLIN };

	return ppoll(&p, 1, NULL, before) < 0 ? -1 : 0;
}

/* With echo off. */
static char *ask_terminal(int tty, const char *prompt, struct err *e)
{
	struct sigaction signals[ENDERS];
	struct termios old, quiet;
	char *line = NULL;
	sigset_t before;

	if (tcgetattr(tty, &old) != 0) {
		err_set(e, ERRCODE_IO_ERROR, "no terminal: %s",
		    strerror(errno));
		return NULL;
	}
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	catch_signals(signals, &before);
	tcsetattr(tty, TCSAFLUSH, &quiet);
	if (write(tty, prompt, strlen(prompt)) > 0 &&
	    await_line(tty, &before) == 0)
		line = take_line(tty, e);
	else
		err_set(e, ERRCODE_IO_ERROR, "no password: %s",
		    strerror(errno));
	if (write(tty, "\n", 1) < 0)
		errno = 0;	/* the newline has no reader then */
	tcsetattr(tty, TCSAFLUSH, &old);
	give_signals_back(signals, &before);
	return line;
}

static char *ask_twice(int tty, const char *prompt, const char *again,
    struct err *e)
{
	char *first = ask_terminal(tty, prompt, e);
	char *second = first == NULL || again == NULL ? NULL :
	    ask_terminal(tty, again, e);

	if (first != NULL && again != NULL &&
	    (second == NULL || strcmp(first, second) != 0)) {
		if (second != NULL)
			err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "the passwords differ");
		secret_free(first);
		first = NULL;
	}
	secret_free(second);
	return first;
}

char *password_ask(const char *prompt, const char *again, struct err *e)
{
	if (!isatty(STDIN_FILENO))
		return take_line(STDIN_FILENO, e);

	const int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (tty < 0) {
		err_set(e, ERRCODE_IO_ERROR, "no terminal: %s",
		    strerror(errno));
		return NULL;
	}

	char *const line = ask_twice(tty, prompt, again, e);
	close(tty);
	return line;
}
