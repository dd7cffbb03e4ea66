/* terminal.c - what is known of the terminal, if there is one.
 * SPDX-License-Identifier: ISC */
#include "ctl/terminal.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
